import type { Column } from "./column.js";

/** The columns of a table of quotes: the members of a quote, and those of its `ext`. */
export const QUOTE_COLUMNS: readonly Column[] = [
  { name: "symbol", type: "string", doc: "Instrument symbol." },
  { name: "region", type: "string", nullable: true, doc: "Region: CN, HK or US." },
  { name: "session", type: "string", nullable: true, doc: "State of the market." },
  { name: "timestamp", type: "timestamp", unit: "UTC", doc: "Time of the quote." },
  { name: "last_price", type: "double", unit: "currency", doc: "Latest price." },
  { name: "open", type: "double", nullable: true, unit: "currency", doc: "First price of the day." },
  { name: "high", type: "double", nullable: true, unit: "currency", doc: "Highest price of the day." },
  { name: "low", type: "double", nullable: true, unit: "currency", doc: "Lowest price of the day." },
  { name: "prev_close", type: "double", unit: "currency", doc: "Close of the session before; 0: not known." },
  { name: "volume", type: "double", unit: "lots of 100 shares in CN, else shares", doc: "Traded volume." },
  { name: "amount", type: "double", unit: "currency", doc: "Traded amount." },
  { name: "ext_type", type: "string", nullable: true, doc: "Variant of the ext object, such as cn_equity." },
  { name: "name", type: "string", nullable: true, doc: "Display name." },
  { name: "change_amount", type: "double", nullable: true, unit: "currency", doc: "Change of the price." },
  { name: "change_pct", type: "double", nullable: true, unit: "ratio", doc: "Change: 0.01 is 1 %." },
  {
    name: "amplitude",
    type: "double",
    nullable: true,
    unit: "ratio",
    doc: "High minus low, by the previous close.",
  },
  {
    name: "turnover_rate",
    type: "double",
    nullable: true,
    unit: "ratio",
    doc: "Volume by the shares that trade freely.",
  },
];

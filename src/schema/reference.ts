import { type Column, column, nullable, type TableSchema } from "./column.js";

const VALIDITY: readonly Column[] = [
  column("valid_from", "timestamp", "When this content was first seen.", "UTC"),
  nullable(
    "valid_to",
    "timestamp",
    "When other content, or none, was first seen instead; null while it is current.",
    "UTC",
  ),
];

/** Whether the rows of a table are dated versions, each of which ends where the next one of its subject begins. */
export function hasVersions({ columns }: TableSchema): boolean {
  return columns.some(({ name }) => name === "valid_to");
}

export function subjectOf({ key }: TableSchema): string[] {
  return key.filter((name) => name !== "valid_from");
}

const REGION: Column = column("region", "string", "Region: CN, HK or US.");

/** Members of an instrument's `ext` that have their own column; all other members are in `ext_other`. */
export const INSTRUMENT_EXT: readonly Column[] = [
  nullable("float_shares", "double", "Shares that trade freely.", "shares"),
  nullable("total_shares", "double", "Shares issued.", "shares"),
  nullable(
    "limit_up",
    "double",
    "Highest price permitted that day; 100000 means that there is none.",
    "currency",
  ),
  nullable("limit_down", "double", "Lowest price permitted that day.", "currency"),
  nullable("tick_size", "double", "Smallest step of the price.", "currency"),
  nullable("lot_size", "double", "Shares of a board lot.", "shares"),
  nullable("listing_date", "date", "First trading date."),
  nullable("name_en", "string", "English name."),
];

export const INSTRUMENTS: TableSchema = {
  name: "instruments",
  doc: "Instrument metadata as dated versions: a row for each content ever seen. Key: symbol, valid_from.",
  columns: [
    column("symbol", "string", "Instrument symbol, <code>.<exchange suffix>."),
    column("code", "string", "Code within the exchange."),
    column("exchange", "string", "Exchange suffix."),
    nullable("name", "string", "Display name."),
    column("type", "string", "Kind of instrument: stock, etf, index, bond, fund, futures, options, other."),
    nullable("ext_type", "string", "Variant of the service's ext object, such as cn_equity."),
    ...INSTRUMENT_EXT,
    nullable("ext_other", "string", "Other members of ext, as JSON text."),
    ...VALIDITY,
    REGION,
  ],
  key: ["symbol", "valid_from"],
  sort: ["symbol", "valid_from"],
  partition: ["region"],
  stats: ["symbol", "valid_from"],
  known: { by: "snapshots", within: "exchange", of: "symbol" },
};

export const EXCHANGES: TableSchema = {
  name: "exchanges",
  doc: "Exchanges as dated versions. Key: exchange, valid_from.",
  columns: [
    column("exchange", "string", "Exchange suffix."),
    column("count", "int64", "Number of instruments.", "instruments"),
    ...VALIDITY,
    REGION,
  ],
  key: ["exchange", "valid_from"],
  sort: ["exchange", "valid_from"],
  partition: ["region"],
  stats: ["exchange", "valid_from"],
  known: { by: "snapshots", within: "exchange", of: "exchange" },
};

export const UNIVERSES: TableSchema = {
  name: "universes",
  doc: "Named groups of instruments as dated versions. Key: id, valid_from.",
  columns: [
    column("id", "string", "Universe id."),
    column("name", "string", "Display name."),
    column("category", "string", "Category, as the source names it."),
    column("symbol_count", "int64", "Number of members.", "instruments"),
    nullable("description", "string", "Description."),
    ...VALIDITY,
    REGION,
  ],
  key: ["id", "valid_from"],
  sort: ["id", "valid_from"],
  partition: ["region"],
  stats: ["id", "valid_from"],
  known: { by: "snapshots", within: "id", of: "id" },
};

export const UNIVERSE_MEMBERS: TableSchema = {
  name: "universe_members",
  doc: "Members of universes as dated versions: from when to when each was seen, or was by an import. Key: id, symbol, valid_from.",
  columns: [
    column("id", "string", "Universe id."),
    column("symbol", "string", "Member."),
    ...VALIDITY,
    REGION,
    {
      name: "source",
      type: "string",
      nullable: true,
      isAdded: true,
      doc: "Who said so, of a membership that was imported with its dates; null where this lake saw it.",
    },
  ],
  key: ["id", "symbol", "valid_from"],
  sort: ["id", "symbol", "valid_from"],
  partition: ["region"],
  stats: ["id", "symbol", "valid_from"],
  known: { by: "snapshots", within: "id", of: "id" },
};

/** The columns of a table of quotes: the members of a quote, and those of its `ext`. */
export const QUOTE_COLUMNS: readonly Column[] = [
  column("symbol", "string", "Instrument symbol."),
  nullable("region", "string", "Region: CN, HK or US."),
  nullable("session", "string", "State of the market."),
  column("timestamp", "timestamp", "Time of the quote.", "UTC"),
  column("last_price", "double", "Latest price.", "currency"),
  nullable("open", "double", "First price of the day.", "currency"),
  nullable("high", "double", "Highest price of the day.", "currency"),
  nullable("low", "double", "Lowest price of the day.", "currency"),
  column("prev_close", "double", "Close of the session before; 0: not known.", "currency"),
  column("volume", "double", "Traded volume.", "lots of 100 shares in CN, else shares"),
  column("amount", "double", "Traded amount.", "currency"),
  nullable("ext_type", "string", "Variant of the ext object, such as cn_equity."),
  nullable("name", "string", "Display name."),
  nullable("change_amount", "double", "Change of the price.", "currency"),
  nullable("change_pct", "double", "Change: 0.01 is 1 %.", "ratio"),
  nullable("amplitude", "double", "High minus low, by the previous close.", "ratio"),
  nullable("turnover_rate", "double", "Volume by the shares that trade freely.", "ratio"),
];

import type { Column, TableSchema } from "./column.js";

/** What a corporate action does. A split of 1 for n is a `consolidation`. */
export const ACTION_KINDS = [
  "cash_dividend",
  "stock_dividend",
  "split",
  "consolidation",
  "rights",
  "spin_off",
  "other",
] as const;
/** What a corporate action does; {@link ACTION_KINDS} has each. */
export type ActionKind = (typeof ACTION_KINDS)[number];

const SYMBOL: Column = { name: "symbol", type: "string", doc: "Instrument symbol." };
const SOURCE: Column = {
  name: "source",
  type: "string",
  doc: "Who says so: the source's name in the file, or the one that the import was given.",
};
const REGION: Column = { name: "region", type: "string", doc: "Region: CN, HK or US." };
const EX_DATE: Column = {
  name: "ex_date",
  type: "date",
  doc: "First trading date at the new price level, in the exchange's own zone.",
};

export const CORPORATE_ACTIONS: TableSchema = {
  name: "corporate_actions",
  doc: "Corporate actions: one row for each version of an action that was ever seen. Key: symbol, ex_date, kind, source, first_seen_at.",
  columns: [
    SYMBOL,
    EX_DATE,
    { name: "kind", type: "string", doc: `${ACTION_KINDS.join(", ")}.` },
    SOURCE,
    {
      name: "first_seen_at",
      type: "timestamp",
      unit: "UTC",
      doc: "When this version was first seen by this lake.",
    },
    {
      name: "cash",
      type: "double",
      nullable: true,
      unit: "currency a share",
      doc: "Cash for one share held before the ex-date.",
    },
    {
      name: "ratio",
      type: "double",
      nullable: true,
      unit: "shares a share",
      doc: "For one share held before: of a split or consolidation the shares after it (4; 0.1), of a stock dividend the shares in addition (0.3), of rights those that may be bought, of a spin-off those of the other company.",
    },
    {
      name: "price",
      type: "double",
      nullable: true,
      unit: "currency",
      doc: "Price of one share: of rights what is paid for it, of a spin-off what a share of the other company is worth.",
    },
    {
      name: "currency",
      type: "string",
      nullable: true,
      doc: "Currency of cash and price, where the source states it: that of the instrument's prices.",
    },
    { name: "announce_date", type: "date", nullable: true, doc: "Date of the announcement." },
    { name: "record_date", type: "date", nullable: true, doc: "Date on whose evening holders are entitled." },
    { name: "pay_date", type: "date", nullable: true, doc: "Date of the payment." },
    REGION,
  ],
  key: ["symbol", "ex_date", "kind", "source", "first_seen_at"],
  sort: ["symbol", "ex_date", "kind", "source", "first_seen_at"],
  partition: ["region"],
  stats: ["symbol", "ex_date", "first_seen_at"],
};

export const EX_FACTORS: TableSchema = {
  name: "ex_factors",
  doc: "Factors of ex-events as sources state them, one event a row. Key: symbol, ex_date, source.",
  columns: [
    SYMBOL,
    EX_DATE,
    {
      ...SOURCE,
      doc: "Who says so: service for the service of the bars, else the source's name in the file, or the one that the import was given.",
    },
    {
      name: "factor",
      type: "double",
      unit: "ratio",
      doc: "Close of the session before, divided by that close at the new price level: above 1 for a payout or a split.",
    },
    {
      name: "first_seen_at",
      type: "timestamp",
      unit: "UTC",
      doc: "When a factor of this source and date was first seen by this lake.",
    },
    REGION,
  ],
  key: ["symbol", "ex_date", "source"],
  sort: ["symbol", "ex_date", "source"],
  partition: ["region"],
  stats: ["symbol", "ex_date"],
};

/** What happened to a symbol. */
export const SYMBOL_CHANGE_KINDS = ["rename", "merger", "reuse", "delisting"] as const;
/** What happened to a symbol; {@link SYMBOL_CHANGE_KINDS} has each. */
export type SymbolChangeKind = (typeof SYMBOL_CHANGE_KINDS)[number];

export const SYMBOL_CHANGES: TableSchema = {
  name: "symbol_changes",
  doc: "What happened to symbols, as sources state it: renames, mergers, codes given to other companies, delistings. Key: symbol, from_date, source.",
  columns: [
    { ...SYMBOL, doc: "Symbol until then." },
    {
      name: "from_date",
      type: "date",
      doc: "First date on which the symbol is no longer of the instrument, in the exchange's own zone.",
    },
    SOURCE,
    {
      name: "kind",
      type: "string",
      doc: "rename: the instrument is new_symbol since; merger: its holders got new_symbol; reuse: the code is another company's since; delisting: it trades no longer.",
    },
    {
      name: "new_symbol",
      type: "string",
      nullable: true,
      doc: "Symbol of the instrument since, or of what it was merged into.",
    },
    {
      name: "until_date",
      type: "date",
      nullable: true,
      doc: "First date on which new_symbol is no longer its symbol, where the source states it.",
    },
    {
      name: "first_seen_at",
      type: "timestamp",
      unit: "UTC",
      doc: "When a change of this source, symbol and date was first seen by this lake.",
    },
    REGION,
  ],
  key: ["symbol", "from_date", "source"],
  sort: ["symbol", "from_date", "source"],
  partition: ["region"],
  stats: ["symbol", "from_date"],
};

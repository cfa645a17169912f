import { type Column, column, nullable, type TableSchema } from "./column.js";

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
export type ActionKind = (typeof ACTION_KINDS)[number];

const SYMBOL: Column = column("symbol", "string", "Instrument symbol.");
const SOURCE: Column = column(
  "source",
  "string",
  "Who says so: the source's name in the file, or the one that the import was given.",
);
const REGION: Column = column("region", "string", "Region: CN, HK or US.");
const EX_DATE: Column = column(
  "ex_date",
  "date",
  "First trading date at the new price level, in the exchange's own zone.",
);

export const CORPORATE_ACTIONS: TableSchema = {
  name: "corporate_actions",
  doc: "Corporate actions: one row for each version of an action that was ever seen. Key: symbol, ex_date, kind, source, first_seen_at.",
  columns: [
    SYMBOL,
    EX_DATE,
    { name: "kind", type: "string", doc: `${ACTION_KINDS.join(", ")}.` },
    SOURCE,
    column("first_seen_at", "timestamp", "When this version was first seen by this lake.", "UTC"),
    nullable("cash", "double", "Cash for one share held before the ex-date.", "currency a share"),
    nullable(
      "ratio",
      "double",
      "For one share held before: of a split or consolidation the shares after it (4; 0.1), of a stock dividend the shares in addition (0.3), of rights those that may be bought, of a spin-off those of the other company.",
      "shares a share",
    ),
    nullable(
      "price",
      "double",
      "Price of one share: of rights what is paid for it, of a spin-off what a share of the other company is worth.",
      "currency",
    ),
    nullable(
      "currency",
      "string",
      "Currency of cash and price, where the source states it: that of the instrument's prices.",
    ),
    nullable("announce_date", "date", "Date of the announcement."),
    nullable("record_date", "date", "Date on whose evening holders are entitled."),
    nullable("pay_date", "date", "Date of the payment."),
    REGION,
  ],
  key: ["symbol", "ex_date", "kind", "source", "first_seen_at"],
  sort: ["symbol", "ex_date", "kind", "source", "first_seen_at"],
  partition: ["region"],
  stats: ["symbol", "ex_date", "first_seen_at"],
  known: { by: "actions" },
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
    column(
      "factor",
      "double",
      "Close of the session before, divided by that close at the new price level: above 1 for a payout or a split.",
      "ratio",
    ),
    column(
      "first_seen_at",
      "timestamp",
      "When a factor of this source and date was first seen by this lake.",
      "UTC",
    ),
    REGION,
  ],
  key: ["symbol", "ex_date", "source"],
  sort: ["symbol", "ex_date", "source"],
  partition: ["region"],
  stats: ["symbol", "ex_date"],
  known: { by: "sessions", date: "ex_date" },
};

export const SYMBOL_CHANGE_KINDS = ["rename", "merger", "reuse", "delisting"] as const;
export type SymbolChangeKind = (typeof SYMBOL_CHANGE_KINDS)[number];

export const SYMBOL_CHANGES: TableSchema = {
  name: "symbol_changes",
  doc: "What happened to symbols, as sources state it: renames, mergers, codes given to other companies, delistings. Key: symbol, from_date, source.",
  columns: [
    { ...SYMBOL, doc: "Symbol until then." },
    column(
      "from_date",
      "date",
      "First date on which the symbol is no longer of the instrument, in the exchange's own zone.",
    ),
    SOURCE,
    column(
      "kind",
      "string",
      "rename: the instrument is new_symbol since; merger: its holders got new_symbol; reuse: the code is another company's since; delisting: it trades no longer.",
    ),
    nullable("new_symbol", "string", "Symbol of the instrument since, or of what it was merged into."),
    nullable(
      "until_date",
      "date",
      "First date on which new_symbol is no longer its symbol, where the source states it.",
    ),
    column(
      "first_seen_at",
      "timestamp",
      "When a change of this source, symbol and date was first seen by this lake.",
      "UTC",
    ),
    REGION,
  ],
  key: ["symbol", "from_date", "source"],
  sort: ["symbol", "from_date", "source"],
  partition: ["region"],
  stats: ["symbol", "from_date"],
  known: { by: "changes", from: "from_date", until: "until_date" },
};

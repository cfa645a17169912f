import {
  type Column,
  column,
  type KnownRule,
  nullable,
  type PartitionSpan,
  type TableSchema,
} from "./column.js";

const REGION: Column = column("region", "string", "Region of the exchange: CN, HK or US.");

/** The members of Compact K-line data, in the interface's order. Both landed periods and the wire share them. */
export const KLINE_COLUMNS: readonly Column[] = [
  column("open", "double", "First price, unadjusted.", "currency"),
  column("high", "double", "Highest price, unadjusted.", "currency"),
  column("low", "double", "Lowest price, unadjusted.", "currency"),
  column("close", "double", "Last price, unadjusted.", "currency"),
  column("volume", "int64", "Traded volume in the delivered unit; volume x lot is shares.", "lot shares"),
  column(
    "amount",
    "double",
    "Traded amount. 0 with a volume above 0 means that the source reports no amount.",
    "currency",
  ),
  nullable("open_interest", "double", "Open contracts (futures).", "contracts"),
  nullable(
    "prev_close",
    "double",
    "Previous close as the exchange states it: on an ex-date it differs from the last close.",
    "currency",
  ),
  nullable("settlement_price", "double", "Settlement price (futures).", "currency"),
];

function bars(
  name: string,
  doc: string,
  timestampDoc: string,
  partition: Column & { readonly name: PartitionSpan["unit"] },
  known: KnownRule,
): TableSchema {
  return {
    name,
    doc,
    columns: [
      column("symbol", "string", "Instrument symbol, <code>.<exchange suffix>."),
      { name: "timestamp", type: "timestamp", unit: "UTC", doc: timestampDoc },
      column("trade_date", "date", "Trading date in the exchange's own zone."),
      ...KLINE_COLUMNS,
      column("lot", "int32", "Shares in one unit of volume.", "shares"),
      column("is_final", "boolean", "False while the bar's session was still running when it was asked for."),
      REGION,
      partition,
    ],
    key: ["symbol", "timestamp"],
    sort: ["symbol", "timestamp"],
    partition: ["region", partition.name],
    span: { partition: partition.name, unit: partition.name, date: "trade_date" },
    stats: ["symbol", "timestamp"],
    known,
  };
}

export const BARS_1D = bars(
  "bars_1d",
  "Daily bars as delivered, unadjusted. Key: symbol, timestamp.",
  "Midnight of the trading date in the exchange's zone.",
  column("year", "int32", "Year of the trading date."),
  { by: "days" },
);

export const BARS_1M = bars(
  "bars_1m",
  "One-minute bars as delivered, unadjusted. Key: symbol, timestamp.",
  "End of the minute.",
  column("month", "date", "First day of the trading date's month."),
  { by: "minutes" },
);

/**
 * What the service said about days on which the lake has no daily bar of a symbol. A day in no row was never requested,
 * or its bars were set aside, or nothing explained their absence.
 */
export const ABSENCES_1D: TableSchema = {
  name: "absences_1d",
  doc: "Stretches of days for which daily bars of a symbol were requested, and the service had none. Days of a stretch that are no trading days say nothing. Key: symbol, first_date.",
  columns: [
    column("symbol", "string", "Instrument symbol, <code>.<exchange suffix>."),
    column("first_date", "date", "First day of the stretch, in the exchange's own zone."),
    column("last_date", "date", "Last day of the stretch, inclusive."),
    column("region", "string", "Region of the exchange: CN, HK or US."),
  ],
  key: ["symbol", "first_date"],
  sort: ["symbol", "first_date"],
  partition: ["region"],
  stats: ["symbol"],
  known: { by: "stretches", first: "first_date", last: "last_date" },
};

export const TRADING_DAYS: TableSchema = {
  name: "trading_days",
  doc: "The days on which a region traded, from its index's daily bars, else from the days on which most symbols traded. Key: region, trade_date.",
  columns: [
    column("region", "string", "Region: CN, HK or US."),
    column("trade_date", "date", "Trading date in the exchange's own zone."),
    column("source", "string", "index: the region's index has a bar; majority: most of the symbols traded."),
  ],
  key: ["region", "trade_date"],
  sort: ["trade_date"],
  partition: ["region"],
  stats: ["trade_date"],
  known: { by: "sessions", date: "trade_date" },
};

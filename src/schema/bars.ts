import type { Column, PartitionSpan, TableSchema } from "./column.js";

const REGION: Column = { name: "region", type: "string", doc: "Region of the exchange: CN, HK or US." };

/** The members of Compact K-line data, in the interface's order. Both landed periods and the wire share them. */
export const KLINE_COLUMNS: readonly Column[] = [
  { name: "open", type: "double", unit: "currency", doc: "First price, unadjusted." },
  { name: "high", type: "double", unit: "currency", doc: "Highest price, unadjusted." },
  { name: "low", type: "double", unit: "currency", doc: "Lowest price, unadjusted." },
  { name: "close", type: "double", unit: "currency", doc: "Last price, unadjusted." },
  {
    name: "volume",
    type: "int64",
    unit: "lot shares",
    doc: "Traded volume in the delivered unit; volume x lot is shares.",
  },
  {
    name: "amount",
    type: "double",
    unit: "currency",
    doc: "Traded amount. 0 with a volume above 0 means that the source reports no amount.",
  },
  {
    name: "open_interest",
    type: "double",
    nullable: true,
    unit: "contracts",
    doc: "Open contracts (futures).",
  },
  {
    name: "prev_close",
    type: "double",
    nullable: true,
    unit: "currency",
    doc: "Previous close as the exchange states it: on an ex-date it differs from the last close.",
  },
  {
    name: "settlement_price",
    type: "double",
    nullable: true,
    unit: "currency",
    doc: "Settlement price (futures).",
  },
];

function bars(
  name: string,
  doc: string,
  timestampDoc: string,
  partition: Column & { readonly name: PartitionSpan["unit"] },
): TableSchema {
  return {
    name,
    doc,
    columns: [
      { name: "symbol", type: "string", doc: "Instrument symbol, <code>.<exchange suffix>." },
      { name: "timestamp", type: "timestamp", unit: "UTC", doc: timestampDoc },
      { name: "trade_date", type: "date", doc: "Trading date in the exchange's own zone." },
      ...KLINE_COLUMNS,
      { name: "lot", type: "int32", unit: "shares", doc: "Shares in one unit of volume." },
      {
        name: "is_final",
        type: "boolean",
        doc: "False while the bar's session was still running when it was asked for.",
      },
      REGION,
      partition,
    ],
    key: ["symbol", "timestamp"],
    sort: ["symbol", "timestamp"],
    partition: ["region", partition.name],
    span: { partition: partition.name, unit: partition.name, date: "trade_date" },
    stats: ["symbol", "timestamp"],
  };
}

export const BARS_1D = bars(
  "bars_1d",
  "Daily bars as delivered, unadjusted. Key: symbol, timestamp.",
  "Midnight of the trading date in the exchange's zone.",
  { name: "year", type: "int32", doc: "Year of the trading date." },
);

export const BARS_1M = bars(
  "bars_1m",
  "One-minute bars as delivered, unadjusted. Key: symbol, timestamp.",
  "End of the minute.",
  { name: "month", type: "date", doc: "First day of the trading date's month." },
);

/**
 * What the service said about days on which the lake has no daily bar of a symbol. A day in no row was never requested,
 * or its bars were set aside, or nothing explained their absence.
 */
export const ABSENCES_1D: TableSchema = {
  name: "absences_1d",
  doc: "Stretches of days for which daily bars of a symbol were requested, and the service had none. Days of a stretch that are no trading days say nothing. Key: symbol, first_date.",
  columns: [
    { name: "symbol", type: "string", doc: "Instrument symbol, <code>.<exchange suffix>." },
    { name: "first_date", type: "date", doc: "First day of the stretch, in the exchange's own zone." },
    { name: "last_date", type: "date", doc: "Last day of the stretch, inclusive." },
    { name: "region", type: "string", doc: "Region of the exchange: CN, HK or US." },
  ],
  key: ["symbol", "first_date"],
  sort: ["symbol", "first_date"],
  partition: ["region"],
  stats: ["symbol"],
};

export const TRADING_DAYS: TableSchema = {
  name: "trading_days",
  doc: "The days on which a region traded, from its index's daily bars, else from the days on which most symbols traded. Key: region, trade_date.",
  columns: [
    { name: "region", type: "string", doc: "Region: CN, HK or US." },
    { name: "trade_date", type: "date", doc: "Trading date in the exchange's own zone." },
    {
      name: "source",
      type: "string",
      doc: "index: the region's index has a bar; majority: most of the symbols traded.",
    },
  ],
  key: ["region", "trade_date"],
  sort: ["trade_date"],
  partition: ["region"],
  stats: ["trade_date"],
};

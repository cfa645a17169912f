import type { TableSchema } from "./column.js";

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

import type { TableSchema } from "./column.js";

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

/** Formats in which a result can be exported. */
export const EXPORT_FORMATS = ["csv", "parquet", "arrow"] as const;

export type ExportFormat = (typeof EXPORT_FORMATS)[number];

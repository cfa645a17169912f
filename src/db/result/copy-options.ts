/** DuckDB's options for the formats in which it writes results. */
export const COPY_OPTIONS = {
  csv: "FORMAT csv, HEADER true",
  json: "FORMAT json",
  parquet: "FORMAT parquet, COMPRESSION zstd",
} as const;

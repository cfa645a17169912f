import { createRequire } from "node:module";
import type * as api from "@duckdb/node-api";

/**
 * The parts of DuckDB's client that barlake uses, with the types of the package. It is a CommonJS package of many files,
 * and an `import` would parse all of them to find what they export: that takes a command a tenth of a second more.
 */
export const {
  BIGINT,
  BOOLEAN,
  DATE,
  DOUBLE,
  DuckDBArrayType,
  DuckDBDateValue,
  DuckDBDecimalType,
  DuckDBDecimalValue,
  DuckDBEnumType,
  DuckDBInstance,
  DuckDBListType,
  DuckDBMapType,
  DuckDBResultReader,
  DuckDBStructType,
  DuckDBTableFunction,
  DuckDBTimestampMillisecondsValue,
  DuckDBTimestampNanosecondsValue,
  DuckDBTimestampSecondsValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBTypeId,
  ENUM,
  INTEGER,
  ResultReturnType,
  StatementType,
  TIMESTAMP,
  TIMESTAMPTZ,
  TIMESTAMP_MS,
  VARCHAR,
  listValue,
  version,
}: typeof api = createRequire(import.meta.url)("@duckdb/node-api");

export type DuckDBInstance = api.DuckDBInstance;
export type DuckDBResultReader = api.DuckDBResultReader;
export type DuckDBTypeId = api.DuckDBTypeId;
export type StatementType = api.StatementType;

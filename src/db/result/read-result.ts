import type { DuckDBResult, DuckDBType, DuckDBValue } from "@duckdb/node-api";
import {
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBTimestampMillisecondsValue,
  DuckDBTimestampNanosecondsValue,
  DuckDBTimestampSecondsValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBTypeId,
  ResultReturnType,
} from "../../arrow/duckdb-api.js";
import type { ResultCopy } from "./result-copy.js";
import type { ResultValue, StatementResult, ValueKind } from "./statement-result.js";

/**
 * Reads a streaming result to its end and returns its first rows.
 *
 * @param copy gets every row of a query. @default none
 * @throws the result's error where it stops earlier.
 */
export async function readResult(
  result: DuckDBResult,
  limit: number,
  copy?: ResultCopy,
): Promise<StatementResult> {
  const isQuery = result.returnType === ResultReturnType.QUERY_RESULT;
  const columns = result.deduplicatedColumnNames().map((name, index) => {
    const type = result.columnType(index);
    return { name, type, kind: valueKind(type), values: [] as ResultValue[] };
  });
  let rows = 0;
  if (isQuery) await copy?.begin(result);
  for (let chunk = await result.fetchChunk(); chunk?.rowCount; chunk = await result.fetchChunk()) {
    const taken = Math.min(chunk.rowCount, limit - rows);
    for (const [index, column] of taken > 0 ? columns.entries() : []) {
      for (const value of chunk.getColumnValues(index).slice(0, taken)) column.values.push(plain(value));
    }
    rows += chunk.rowCount;
    if (isQuery) copy?.add(chunk);
  }
  if (!isQuery) return { columns: [], rows: 0 };
  return { columns: columns.map(({ name, kind, values }) => ({ name, kind, values })), rows };
}

/** The kind of a type's values. */
export function valueKind({ typeId }: DuckDBType): ValueKind {
  if (typeId === DuckDBTypeId.BOOLEAN) return "boolean";
  if (typeId === DuckDBTypeId.DATE) return "date";
  if (TIMES.has(typeId)) return "time";
  return NUMBERS.has(typeId) ? "number" : "text";
}

const TIMES: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.TIMESTAMP,
  DuckDBTypeId.TIMESTAMP_TZ,
  DuckDBTypeId.TIMESTAMP_S,
  DuckDBTypeId.TIMESTAMP_MS,
  DuckDBTypeId.TIMESTAMP_NS,
]);

const NUMBERS: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.TINYINT,
  DuckDBTypeId.SMALLINT,
  DuckDBTypeId.INTEGER,
  DuckDBTypeId.BIGINT,
  DuckDBTypeId.HUGEINT,
  DuckDBTypeId.UTINYINT,
  DuckDBTypeId.USMALLINT,
  DuckDBTypeId.UINTEGER,
  DuckDBTypeId.UBIGINT,
  DuckDBTypeId.UHUGEINT,
  DuckDBTypeId.FLOAT,
  DuckDBTypeId.DOUBLE,
  DuckDBTypeId.DECIMAL,
]);

function plain(value: DuckDBValue): ResultValue {
  if (value === null || typeof value !== "object") {
    return typeof value === "bigint" && Number.isSafeInteger(Number(value)) ? Number(value) : value;
  }
  if (value instanceof DuckDBDateValue) return value.days;
  if (value instanceof DuckDBDecimalValue) return value.toDouble();
  if (value instanceof DuckDBTimestampTZValue || value instanceof DuckDBTimestampValue)
    return Number(value.micros) / 1000;
  if (value instanceof DuckDBTimestampSecondsValue) return Number(value.seconds) * 1000;
  if (value instanceof DuckDBTimestampMillisecondsValue) return Number(value.millis);
  if (value instanceof DuckDBTimestampNanosecondsValue) return Number(value.nanos) / 1e6;
  return String(value);
}

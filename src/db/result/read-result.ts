import { copyFile } from "node:fs/promises";
import type {
  DuckDBAppender,
  DuckDBConnection,
  DuckDBDataChunk,
  DuckDBResult,
  DuckDBType,
  DuckDBValue,
} from "@duckdb/node-api";
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
import { ident, literal } from "../quote.js";
import type { ResultValue, StatementResult, ValueKind } from "./statement-result.js";

export const COPY_OPTIONS = {
  csv: "FORMAT csv, HEADER true",
  json: "FORMAT json",
  parquet: "FORMAT parquet, COMPRESSION zstd",
} as const;

/** Takes the rows of a query while they are read. It never throws: a copy that fails leaves the result as it is. */
export interface ResultCopy {
  /** Makes the table. */
  begin(result: DuckDBResult): Promise<void>;
  add(chunk: DuckDBDataChunk): void;
  /** Ends the copy, whole or not. Only then is the file complete, and can another database open it. */
  end(): Promise<void>;
  /** Whether the file has every row; false until the end. */
  readonly isWhole: boolean;
  /** Whether the rows could not be written, or did not fit. */
  readonly hasFailed: boolean;
}

export interface CopyPlace {
  readonly file: string;
  /** Path of an empty database, which becomes the new file: see {@link makeEmptyDatabase}. */
  readonly empty: string;
  readonly table: string;
  readonly isFull: () => boolean;
}

const COPY = "result_copy";

/** Number of copies: each has another name, because one that could not be detached keeps its name. */
let copies = 0;

/** Makes an empty database for copies: DuckDB waits for the disk several times while it makes one. */
export async function makeEmptyDatabase(
  session: { run(sql: string): Promise<unknown> },
  file: string,
): Promise<void> {
  // An older version would not have every type. Each column takes a block at least: with DuckDB's default of 256 KiB,
  // one row would be half a megabyte, and thousands of columns more than the memory.
  const form = "STORAGE_VERSION 'latest', BLOCK_SIZE 16384";
  await session.run(`ATTACH ${literal(file)} AS ${COPY} (${form})`);
  await session.run(`DETACH ${COPY}`);
}

/** Copies a result into the table of a new database file. A connection makes one copy at a time. */
export function resultCopy(
  connection: DuckDBConnection,
  { file, empty, table, isFull }: CopyPlace,
): ResultCopy {
  const copy = `${COPY}_${++copies}`;
  let appender: DuckDBAppender | undefined;
  let isAttached = false;
  let [isWhole, hasFailed] = [false, false];
  return {
    begin: async (result) => {
      const columns = distinctNames(result.columnNames()).map(
        (name, index) => `${ident(name)} ${result.columnType(index).toString()}`,
      );
      try {
        await copyFile(empty, file);
        // A copy that was not completed is of no use, so nothing needs to be recovered.
        await connection.run(`ATTACH ${literal(file)} AS ${copy} (RECOVERY_MODE no_wal_writes)`);
        isAttached = true;
        await connection.run(`CREATE TABLE ${copy}.${ident(table)} (${columns.join(", ")})`);
        appender = await connection.createAppender(table, null, copy);
      } catch {
        hasFailed = true;
      }
    },
    add: (chunk) => {
      if (hasFailed) return;
      try {
        hasFailed = isFull();
        if (!hasFailed) appender?.appendDataChunk(chunk);
      } catch {
        hasFailed = true;
      }
    },
    end: async () => {
      const isBegun = appender !== undefined;
      try {
        appender?.closeSync();
      } catch {
        // It writes its last rows when it is closed.
        hasFailed = true;
      }
      appender = undefined;
      if (!isAttached) return;
      isAttached = false;
      try {
        await connection.run(`DETACH ${copy}`);
        isWhole = isBegun && !hasFailed;
      } catch {
        hasFailed = true;
      }
    },
    get isWhole() {
      return isWhole;
    },
    get hasFailed() {
      return hasFailed;
    },
  };
}

/** Numbers the names that differ from an earlier one in nothing or in case only: DuckDB takes them for the same. */
function distinctNames(names: readonly string[]): string[] {
  const used = new Set<string>();
  return names.map((name) => {
    let distinct = name;
    for (let number = 1; used.has(distinct.toLowerCase()); number++) distinct = `${name}:${number}`;
    used.add(distinct.toLowerCase());
    return distinct;
  });
}

/** Reads a streaming result to its end and returns its first rows; `copy` gets all. @throws the result's error. */
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

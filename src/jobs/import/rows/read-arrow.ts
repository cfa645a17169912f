import { createReadStream } from "node:fs";
import {
  type DataType,
  DateUnit,
  type Field,
  Float64,
  Int64,
  makeData,
  RecordBatch,
  RecordBatchReader,
  Schema,
  Struct,
  TimeUnit,
  Type,
  Utf8,
  type Vector,
  vectorFromArray,
} from "apache-arrow";
import { messageOf, UsageError } from "../../../core/errors.js";
import { literal } from "../../../db/quote.js";
import type { Session } from "../../../db/session/session.js";
import type { TempTable } from "../../../db/session/temp-table.js";
import { stemOf, type TextFile } from "../text/text-file.js";
import type { SourceColumn } from "./raw-rows.js";

/** A column as it is handed to DuckDB, and the SQL that gives it its type back. */
interface Handed {
  readonly vector: Vector;
  readonly sql: (column: string) => string;
  readonly type: string;
}

const MICROSECONDS: Readonly<Record<TimeUnit, string>> = {
  [TimeUnit.SECOND]: "* 1000000",
  [TimeUnit.MILLISECOND]: "* 1000",
  [TimeUnit.MICROSECOND]: "",
  [TimeUnit.NANOSECOND]: "// 1000",
};

/**
 * Reads an Arrow IPC file or stream into a temporary table: `c0`, `c1`, ..., and `file`.
 *
 * @param isFirst whether the table is created.
 * @throws {UsageError} for a file that Arrow's reader does not read, such as a compressed one.
 */
export async function readArrowFile(
  session: Session,
  file: TextFile & { readonly columns: readonly string[] },
  place: number,
  rows: TempTable,
  isFirst: boolean,
): Promise<readonly SourceColumn[]> {
  let isNew = isFirst;
  let columns: readonly SourceColumn[] = [];
  try {
    const reader = await RecordBatchReader.from(createReadStream(file.readPath));
    for await (const batch of reader) {
      const handed = batch.schema.fields.map((field, i) => handOver(field, batch.getChildAt(i) as Vector));
      const select = handed.map(({ sql }, i) => `${sql(`h${i}`)} AS c${i}`).join(", ");
      await session.withBatch(batchOf(handed), async (from) => {
        const query = `SELECT ${select}, ${place}::INTEGER AS file, ${literal(stemOf(file.path))} AS stem FROM ${from}`;
        if (isNew) await rows.fill(query);
        else await session.run(`INSERT INTO ${rows.name} ${query}`);
      });
      isNew = false;
      columns = handed.map(({ type }, i) => ({ sql: `c${i}`, type }));
    }
  } catch (cause) {
    throw new UsageError(`file ${file.path}: Arrow's reader cannot read it (${messageOf(cause)})`, {
      hint: "write it without compression, or as Parquet",
      cause,
    });
  }
  return columns;
}

/** The names of an Arrow file's columns. @throws {UsageError} where it is not one. */
export async function arrowColumns(path: string, readPath: string): Promise<string[]> {
  try {
    const reader = await RecordBatchReader.from(createReadStream(readPath));
    await reader.open();
    const names = reader.schema.fields.map(({ name }) => name);
    await reader.cancel();
    return names;
  } catch (cause) {
    throw new UsageError(`file ${path}: Arrow's reader cannot read it (${messageOf(cause)})`, {
      hint: "write it as Parquet",
      cause,
    });
  }
}

function batchOf(handed: readonly Handed[]): RecordBatch {
  const children = handed.map(({ vector }) => vector.data[0] as NonNullable<(typeof vector.data)[0]>);
  const schema = new Schema(
    handed.map(({ vector }, i) => ({ name: `h${i}`, type: vector.type, nullable: true }) as Field),
  );
  const length = children[0]?.length ?? 0;
  return new RecordBatch(schema, makeData({ type: new Struct(schema.fields), length, children }));
}

function handOver({ type, name }: Field, vector: Vector): Handed {
  const as = (
    target: Int64 | Float64,
    values: Iterable<unknown>,
    sql: Handed["sql"],
    duckdb: string,
  ): Handed => ({
    vector: vectorFromArray([...values] as never[], target as never) as Vector,
    sql,
    type: duckdb,
  });
  switch (type.typeId) {
    case Type.Timestamp: {
      const { unit, timezone } = type as DataType & { unit: TimeUnit; timezone?: string | null };
      const raw = rawValues(vector);
      const sql = (column: string): string => `make_timestamp((${column} ${MICROSECONDS[unit]})::BIGINT)`;
      return timezone
        ? as(new Int64(), raw, (column) => `timezone('UTC', ${sql(column)})`, "TIMESTAMP WITH TIME ZONE")
        : as(new Int64(), raw, sql, "TIMESTAMP");
    }
    case Type.Date: {
      const { unit } = type as DataType & { unit: DateUnit };
      const days = [...rawValues(vector)].map((value) =>
        value === null ? null : unit === DateUnit.DAY ? value : value / 86_400_000n,
      );
      return as(new Int64(), days, (column) => `(DATE '1970-01-01' + ${column}::INTEGER)`, "DATE");
    }
    case Type.Int: {
      const values = [...vector].map((value) => (value === null ? null : BigInt(value as number)));
      return as(new Int64(), values, (column) => column, "BIGINT");
    }
    case Type.Float:
      return as(new Float64(), vector as Iterable<unknown>, (column) => column, "DOUBLE");
    case Type.Bool: {
      const texts = [...vector].map((value) => (value === null ? null : String(value)));
      return { vector: vectorFromArray(texts, new Utf8()), sql: (column) => column, type: "VARCHAR" };
    }
    case Type.Utf8:
    case Type.LargeUtf8:
    case Type.Dictionary: {
      const texts = [...vector].map((value) => (value === null ? null : String(value)));
      return { vector: vectorFromArray(texts, new Utf8()), sql: (column) => column, type: "VARCHAR" };
    }
    default:
      throw new TypeError(`column ${name} has a type that is not supported here: ${type}`);
  }
}

/** The numbers of a vector as they are stored, null where there is none. */
function* rawValues(vector: Vector): Generator<bigint | null> {
  for (const data of vector.data) {
    const values = data.values as ArrayLike<number | bigint>;
    for (let i = 0; i < data.length; i++)
      yield data.getValid(i) ? BigInt(values[data.offset + i] as number) : null;
  }
}

import {
  type DataType,
  DateUnit,
  Field,
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

/** A batch whose columns are of a few types, and what gives each its own type back. */
export interface IpcBatch {
  /** Columns `h0`, `h1`, ... of integers, doubles and texts. */
  readonly batch: RecordBatch;
  readonly columns: readonly { readonly sql: (column: string) => string; readonly type: string }[];
}

/**
 * The batches of an Arrow IPC file or stream, for DuckDB: timestamps of any unit with or without a zone, dates, numbers,
 * texts and dictionaries of texts.
 *
 * @throws an error of Arrow's reader for what it does not read, such as compressed buffers.
 */
export async function* ipcBatches(
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<IpcBatch, void, undefined> {
  const reader = await RecordBatchReader.from(bytes);
  for await (const one of reader) {
    const columns = one.schema.fields.map((field, i) => handOver(field, one.getChildAt(i) as Vector));
    yield { batch: batchOf(columns), columns };
  }
}

/** The names of the columns of an Arrow IPC file or stream. @throws where it is not one. */
export async function ipcColumnNames(bytes: AsyncIterable<Uint8Array>): Promise<string[]> {
  const reader = await RecordBatchReader.from(bytes);
  await reader.open();
  const names = reader.schema.fields.map(({ name }) => name);
  await reader.cancel();
  return names;
}

function batchOf(handed: readonly Handed[]): RecordBatch {
  const children = handed.map(({ vector }) => vector.data[0] as NonNullable<(typeof vector.data)[0]>);
  const schema = new Schema(handed.map(({ vector }, i) => new Field(`h${i}`, vector.type, true)));
  const length = children[0]?.length ?? 0;
  return new RecordBatch(schema, makeData({ type: new Struct(schema.fields), length, children }));
}

function handOver({ type }: Field, vector: Vector): Handed {
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
    case Type.List: {
      const texts = [...vector].map((list) =>
        list === null ? null : JSON.stringify([...(list as Iterable<unknown>)].map(String)),
      );
      return { vector: vectorFromArray(texts, new Utf8()), sql: (column) => column, type: "VARCHAR" };
    }
    case Type.Utf8:
    case Type.LargeUtf8:
    case Type.Dictionary: {
      const texts = [...vector].map((value) => (value === null ? null : String(value)));
      return { vector: vectorFromArray(texts, new Utf8()), sql: (column) => column, type: "VARCHAR" };
    }
    // A column of another type is no field of the lake, and must not keep the others from being read.
    default: {
      const texts = [...vector].map((value) => (value === null ? null : textOf(value)));
      return { vector: vectorFromArray(texts, new Utf8()), sql: (column) => column, type: "VARCHAR" };
    }
  }
}

function textOf(value: unknown): string {
  const text = JSON.stringify(value, (_, member: unknown) =>
    typeof member === "bigint" ? String(member) : member,
  );
  return text ?? String(value);
}

/** The numbers of a vector as they are stored, null where there is none. */
function* rawValues(vector: Vector): Generator<bigint | null> {
  for (const data of vector.data) {
    const values = data.values as ArrayLike<number | bigint>;
    for (let i = 0; i < data.length; i++)
      yield data.getValid(i) ? BigInt(values[data.offset + i] as number) : null;
  }
}

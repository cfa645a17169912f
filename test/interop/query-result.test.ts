import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { tableFromIPC } from "@uwdata/flechette";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { batchesToIpc, type IpcFormat } from "../../src/arrow/batches-ipc.js";
import { Session } from "../../src/db/session/session.js";
import { type AnyColumn, EVERY_SCALAR, queryOf } from "../arrow/result/any-column.js";
import { type Plain, plainOfDuckDB } from "../arrow/result/plain-values.js";
import { temporaryFolder } from "../lake/temporary-lake.js";
import { pythonHas, runPython } from "./python.js";

let session: Session;
beforeAll(async () => {
  session = await Session.open();
});
afterAll(() => session.close());

/** polars ends its process on an interval, and counts what are seconds in DuckDB as milliseconds. */
const FOREIGN_TO_POLARS = new Set(["INTERVAL", "TIMESTAMP_S"]);

const NESTED: readonly AnyColumn[] = [
  { type: "INTEGER[]", valueOf: (i) => `CASE WHEN ${i} % 5 > 0 THEN [${i}::INT, NULL, 7] END` },
  { type: "VARCHAR[][]", valueOf: (i) => `[[${i}::VARCHAR], [], NULL]` },
  { type: "STRUCT", valueOf: (i) => `CASE WHEN ${i} % 7 > 0 THEN {'a': ${i}::INT, 'b': [NULL, 'x']} END` },
  { type: "BIGINT[2]", valueOf: (i) => `[${i}, NULL]::BIGINT[2]` },
];

async function ipcOf(sql: string, format: IpcFormat): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of batchesToIpc(await session.batches(sql), format)) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Each column's values, as DuckDB's own client reads them. */
async function columnsOf(sql: string): Promise<Readonly<Record<string, readonly Plain[]>>> {
  const result = await session.run(sql);
  const names = result.columnNames();
  const columns = await result.getColumns();
  return Object.fromEntries(names.map((name, index) => [name, (columns[index] ?? []).map(plainOfDuckDB)]));
}

/** How flechette gives values of a type that it does not give as they are. */
const BY_FLECHETTE: Readonly<Record<string, (value: never) => unknown>> = {
  DATE: (days: number) => days * 86_400_000,
  TIMESTAMP: (micros: bigint) => Number(micros) / 1e3,
  TIMESTAMPTZ: (micros: bigint) => Number(micros) / 1e3,
  TIMESTAMP_S: (seconds: bigint) => Number(seconds) * 1e3,
  TIMESTAMP_MS: (millis: bigint) => Number(millis),
  TIMESTAMP_NS: (nanos: bigint) => Number(nanos) / 1e6,
  INTERVAL: ([months, days, nanos]: [number, number, bigint]) => [months, days, Number(nanos)],
};

test.each<IpcFormat>(["stream", "file"])("flechette reads every type of a query's %s", async (format) => {
  const columns = [...EVERY_SCALAR, ...NESTED];
  const sql = queryOf(columns, 3000);
  const table = tableFromIPC(await ipcOf(sql, format), { useBigInt: true, useDecimalInt: true });
  const expected = await columnsOf(sql);
  for (const [index, { type }] of columns.entries()) {
    const found = Array.from({ length: 3000 }, (_, row) =>
      plainOfFlechette(table.getChildAt(index).at(row), type),
    );
    const convert = BY_FLECHETTE[type] ?? ((value: unknown) => value);
    const wanted = expected[`c${index}`]?.map((value) => (value === null ? null : convert(value as never)));
    expect(found, `${type}, column ${index}`).toEqual(wanted);
  }
});

function plainOfFlechette(value: unknown, type: string): unknown {
  if (type === "BLOB" && value !== null) return Buffer.from(value as Uint8Array).toString("hex");
  return ArrayBuffer.isView(value) ? Array.from(value as unknown as ArrayLike<unknown>) : value;
}

/** A value as the script prints it. */
function exact(value: Plain): unknown {
  if (value === null || typeof value === "boolean" || typeof value === "string") return value;
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return value.map(exact);
  if (typeof value === "object")
    return Object.fromEntries(Object.entries(value).map(([name, of]) => [name, exact(of)]));
  return value;
}

/** DuckDB's client gives small integers and floats alike as numbers. */
function exactOf(type: string, value: Plain): unknown {
  if (typeof value !== "number" || (type !== "FLOAT" && type !== "DOUBLE")) {
    return exact(typeof value === "number" ? BigInt(value) : bigintsWithin(value));
  }
  if (Number.isNaN(value)) return "nan";
  const bits = Buffer.alloc(8);
  bits.writeDoubleBE(value);
  return bits.toString("hex");
}

function bigintsWithin(value: Plain): Plain {
  if (typeof value === "number") return BigInt(value);
  if (Array.isArray(value)) return value.map(bigintsWithin);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, of]) => [name, bigintsWithin(of)]));
}

describe.skipIf(!pythonHas("pyarrow", "polars"))("pyarrow and polars", () => {
  test("read every type of a query's result", async () => {
    const columns = [...EVERY_SCALAR, ...NESTED].filter(({ type }) => !FOREIGN_TO_POLARS.has(type));
    const sql = queryOf(columns, 3000);
    const folder = temporaryFolder();
    const files = (["file", "stream"] as const).map((format) => join(folder, `result.${format}`));
    writeFileSync(files[0] as string, await ipcOf(sql, "file"));
    writeFileSync(files[1] as string, await ipcOf(sql, "stream"));
    const expected = await columnsOf(sql);
    const found = runPython("read_result.py", ...files) as Record<string, Record<string, unknown>>;
    expect(Object.keys(found)).toEqual(["pyarrow", "pyarrow's stream", "polars"]);
    for (const [reader, read] of Object.entries(found)) {
      for (const [index, { type }] of columns.entries()) {
        const name = `c${index}`;
        // polars counts times of day in nanoseconds.
        const times = reader === "polars" && type === "TIME" ? 1000n : 1n;
        const wanted = expected[name]?.map((value) =>
          exactOf(type, times > 1n && typeof value === "bigint" ? value * times : value),
        );
        expect(read[name], `${reader}, ${type}, ${name}`).toEqual(wanted);
      }
    }
  });
});

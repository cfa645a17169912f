import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { expect, test } from "vitest";
import { literal } from "../../../../src/db/quote.js";
import type { Session } from "../../../../src/db/session/session.js";
import { contentHash } from "../../../../src/lake/files/content-hash.js";
import { addRunColumns, type FileColumn } from "../../../../src/lake/files/parquet/add-run-columns.js";
import { oneRun, RunBuilder } from "../../../../src/lake/files/parquet/run-chunk.js";
import { readPieces } from "../../../../src/lake/local/local-files.js";
import { openSession, temporaryFolder } from "../../temporary-lake.js";

/** Rows of a row group; DuckDB writes no smaller ones. */
const GROUP = 2048;
const OPTIONS = `FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${GROUP}`;

/** Columns with runs of many lengths, over 5 row groups; the last one is not full. `i` is the number of the row. */
const ROWS = 4 * GROUP + 100;
const RUNS = {
  // 700 texts, so that their numbers take two bytes; in the order of UTF-8 the one outside of the basic plane is last.
  symbol: { type: "string", sql: "if(i >= 8000, '𝄞', if(i % 8192 < 4000, 'Ω' || i // 900, 's' || i // 6))" },
  day: { type: "date", sql: "DATE '1969-12-20' + (i // 500)::INT" },
  lot: { type: "int32", sql: "100::INT" },
  negative: { type: "int32", sql: "(i // 3000 - 2)::INT" },
  nothing: { type: "double", sql: "NULL::DOUBLE" },
  no_text: { type: "string", sql: "NULL::VARCHAR" },
} as const;
const VALUES = { first: "(i * 7 % 1000)::DOUBLE", second: "if(i % 3 = 0, NULL, i)::BIGINT" };
const NAMES = ["symbol", "first", "day", "lot", "second", "negative", "nothing", "no_text"] as const;

const SQL: Readonly<Record<string, string>> = {
  ...VALUES,
  ...Object.fromEntries(Object.entries(RUNS).map(([name, { sql }]) => [name, sql])),
};

async function columnsOf(session: Session): Promise<FileColumn[]> {
  const columns: FileColumn[] = [];
  for (const name of NAMES) {
    if (!(name in RUNS)) {
      columns.push({ name });
      continue;
    }
    const { type, sql } = RUNS[name as keyof typeof RUNS];
    const value = type === "date" ? `(${sql}) - DATE '1970-01-01'` : sql;
    const of = new RunBuilder();
    const rows = await session.json<{ v: string | number | bigint | null }>(
      `SELECT ${value} AS v FROM range(${ROWS}) r(i) ORDER BY i`,
    );
    for (const { v } of rows) of.add(typeof v === "bigint" ? Number(v) : v, 1);
    columns.push({ name, type, runs: of });
  }
  return columns;
}

/** Writes the values, with the row groups in the given order. @returns the path. */
async function valuesFile(session: Session, order: readonly number[], number = "i // 2048"): Promise<string> {
  const file = join(temporaryFolder(), "values.parquet");
  const select = `SELECT first, second, row_group FROM (
    SELECT ${VALUES.first} AS first, ${VALUES.second} AS second, (${number})::INT AS row_group, i // ${GROUP} AS g, i
    FROM range(${ROWS}) r(i)) ORDER BY list_position([${order.join(", ")}], g::INT), i`;
  await session.run("SET preserve_insertion_order = true");
  await session.run(`COPY (${select}) TO ${literal(file)} (${OPTIONS})`);
  return file;
}

async function expectedFile(session: Session): Promise<string> {
  const file = join(temporaryFolder(), "expected.parquet");
  const list = NAMES.map((name) => `${SQL[name]} AS ${name}`);
  await session.run(
    `COPY (SELECT ${list.join(", ")} FROM range(${ROWS}) r(i) ORDER BY i) TO ${literal(file)} (${OPTIONS})`,
  );
  return file;
}

const read = (session: Session, sql: string, file: string) =>
  session.json(sql.replace("$file", literal(file)));

test.each([[[0, 1, 2, 3, 4]], [[3, 2, 1, 0, 4]], [[2, 0, 1, 3, 4]]])(
  "a file of values whose row groups stand as %j, and runs: the file that DuckDB writes of all columns",
  async (order) => {
    const session = await openSession();
    const expected = await expectedFile(session);
    const file = join(temporaryFolder(), "file.parquet");
    const hash = await addRunColumns(await valuesFile(session, order), file, await columnsOf(session));
    expect(hash).toEqual(await contentHash(await readPieces(file)));

    const rows = "SELECT * FROM read_parquet($file, file_row_number = true) ORDER BY file_row_number";
    expect(await read(session, rows, file)).toEqual(await read(session, rows, expected));
    const schema = "SELECT * EXCLUDE (file_name) FROM parquet_schema($file)";
    expect(await read(session, schema, file)).toEqual(await read(session, schema, expected));
    const facts = `SELECT row_group_id, row_group_num_rows, path_in_schema, type, num_values, encodings,
        stats_min_value, stats_max_value, stats_min, stats_max, stats_null_count, min_is_exact, max_is_exact
      FROM parquet_metadata($file) ORDER BY ALL`;
    expect(await read(session, facts, file)).toEqual(await read(session, facts, expected));

    const other = async (path: string) =>
      parquetReadObjects({ file: await asyncBufferFromFile(path), compressors });
    expect(await other(file)).toEqual(await other(expected));
  },
);

test.each([
  ["a negative number", "-2"],
  ["zero with a sign", "'-0'"],
  ["an infinity", "'inf'"],
  ["NaN", "'nan'"],
])(
  "integers with the bits of doubles, %s among them in the last row group: no file is written",
  async (_, value) => {
    const session = await openSession();
    const folder = temporaryFolder();
    const [values, file] = [join(folder, "values.parquet"), join(folder, "file.parquet")];
    const bits = async (number: string): Promise<bigint> => {
      const [row] = await session.json<{ number: number }>(`SELECT ${number}::DOUBLE AS number`);
      return new BigInt64Array(Float64Array.of(row?.number as number).buffer)[0] as bigint;
    };
    const write = async (last: string): Promise<unknown> => {
      await session.run(
        `COPY (SELECT if(i = ${ROWS - 1}, ${await bits(last)}, ${await bits("10.5")}) AS price, (i // ${GROUP})::INT AS row_group
         FROM range(${ROWS}) r(i) ORDER BY i) TO ${literal(values)} (${OPTIONS})`,
      );
      return addRunColumns(values, file, [{ name: "price", hasBits: true }]);
    };
    expect(await write(value)).toBeUndefined();
    expect(existsSync(file)).toBe(false);
    expect(await write("7")).toBeDefined();
    const sums = `SELECT typeof(price) AS type, sum(price) AS sum FROM read_parquet($file) GROUP BY ALL`;
    expect(await read(session, sums, file)).toEqual([{ type: "DOUBLE", sum: 10.5 * (ROWS - 1) + 7 }]);
  },
);

test.each([1, 2, 3, 255, 256, 257, 65_535, 65_536, 65_537])(
  "a column of %d values is read as it was",
  async (distinct) => {
    const session = await openSession();
    const folder = temporaryFolder();
    const [values, file] = [join(folder, "values.parquet"), join(folder, "file.parquet")];
    const rows = 2 * distinct + 1;
    await session.run(
      `COPY (SELECT i::DOUBLE AS i, 0 AS row_group FROM range(${rows}) r(i))
       TO ${literal(values)} (FORMAT parquet, ROW_GROUP_SIZE 204800)`,
    );
    const runs = new RunBuilder();
    for (let i = 0; i < rows; i++) runs.add(`v${Math.floor(i / 2) % distinct}`, 1);
    await addRunColumns(values, file, [{ name: "i" }, { name: "word", type: "string", runs }]);
    const sql = `SELECT count(*)::INT AS rows, count(DISTINCT word)::INT AS words,
        (count(*) FILTER (word = 'v' || ((i::INT // 2) % ${distinct})))::INT AS equal
      FROM read_parquet(${literal(file)})`;
    expect(await session.json(sql)).toEqual([{ rows, words: distinct, equal: rows }]);
  },
);

test("a filter on a column of runs finds its rows by the statistics and the dictionary", async () => {
  const session = await openSession();
  const file = join(temporaryFolder(), "file.parquet");
  await addRunColumns(await valuesFile(session, [0, 1, 2, 3, 4]), file, await columnsOf(session));
  const expected = await expectedFile(session);
  for (const filter of [
    "symbol = '𝄞'",
    "symbol > 't'",
    "day < DATE '1970-01-01'",
    "negative = 0",
    "nothing IS NULL",
  ]) {
    const sql = `SELECT count(*)::INT AS rows, sum(second)::DOUBLE AS sum FROM read_parquet($file) WHERE ${filter}`;
    const [found] = await read(session, sql, file);
    expect(found).toEqual((await read(session, sql, expected))[0]);
    expect(found?.rows).not.toBe(0);
  }
});

test.each([
  ["has rows of two", "(i + 1) // 2048"],
  ["is missing", "if(i < 2048, 0, i // 2048 + 1)"],
  ["has no number", "NULL"],
])("where a row group %s, no file is written", async (_, number) => {
  const session = await openSession();
  const file = join(temporaryFolder(), "file.parquet");
  const values = await valuesFile(session, [0, 1, 2, 3, 4], number);
  expect(await addRunColumns(values, file, await columnsOf(session))).toBeUndefined();
  expect(existsSync(file)).toBe(false);
});

test("runs of fewer rows than the values have: RangeError, and no file is written", async () => {
  const session = await openSession();
  const file = join(temporaryFolder(), "file.parquet");
  const columns = await columnsOf(session);
  const short = { name: "lot", type: "int32", runs: oneRun(100, ROWS - 1) } as const;
  const values = await valuesFile(session, [0, 1, 2, 3, 4]);
  const added = addRunColumns(values, file, [...columns.filter(({ name }) => name !== "lot"), short]);
  await expect(added).rejects.toThrow(`column lot: has runs of ${ROWS - 1} rows`);
  expect(existsSync(file)).toBe(false);
});

test("a file of values that lacks bytes: RangeError", async () => {
  const session = await openSession();
  const values = await valuesFile(session, [0, 1, 2, 3, 4]);
  const whole = readFileSync(values);
  // The footer is whole, but what it says of the first row group is beyond the end.
  const footer = whole.readUInt32LE(whole.length - 8) + 8;
  writeFileSync(values, Buffer.concat([whole.subarray(0, 100), whole.subarray(whole.length - footer)]));
  const file = join(temporaryFolder(), "file.parquet");
  await expect(addRunColumns(values, file, await columnsOf(session))).rejects.toThrow(/ends in row group \d/);
});

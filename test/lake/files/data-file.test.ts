import { expect, test } from "vitest";
import { literal } from "../../../src/db/quote.js";
import { writeDataFile } from "../../../src/lake/files/data-file.js";
import { oneRun } from "../../../src/lake/files/parquet/run-chunk.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { DUCKDB_TYPE } from "../../../src/schema/column.js";
import { openSession, T0, temporaryLake } from "../temporary-lake.js";

const ROWS = 3000;

/** Bars of 3 symbols, the last ones first, with a number of their row group. */
function barsSql(number: string): string {
  const given: Readonly<Record<string, string>> = {
    symbol: "'S' || ((2999 - i) // 1000)",
    timestamp: "make_timestamptz((2999 - i) % 1000 * 86400000000)",
    close: "i::DOUBLE",
    lot: "100",
  };
  const columns = BARS_1D.columns.map(
    ({ name, type }) => `(${given[name] ?? "NULL"})::${DUCKDB_TYPE[type]} AS ${name}`,
  );
  return `SELECT ${columns.join(", ")}, (${number})::INT AS row_group FROM range(${ROWS}) r(i)`;
}

test.each([
  ["are in no order, and sorted", "i % 2", ["ZSTD"]],
  ["are not sorted again, where they say which row group they are in", "0", ["UNCOMPRESSED"]],
])("rows with runs %s", async (_, number, codecs) => {
  const session = await openSession({ threads: 2 });
  const lake = temporaryLake();
  const layout = { runs: new Map([["lot", oneRun(100, ROWS)]]), bits: new Map<string, string>() };
  const values = { region: "CN", year: "1970" };
  const base = await lake.snapshot(BARS_1D);
  const options = { as: "landed", now: T0, layout } as const;
  const add = await writeDataFile(session, lake, base, barsSql(number), values, options);
  expect(JSON.parse(add.stats ?? "")).toMatchObject({
    numRecords: ROWS,
    minValues: { symbol: "S0", timestamp: "1970-01-01T00:00:00.000Z" },
    maxValues: { symbol: "S2", timestamp: "1972-09-26T00:00:00.000Z" },
  });
  const file = literal(`${lake.location}/bars_1d/${decodeURIComponent(add.path)}`);
  const found = await session.json(
    `SELECT count(*)::INT AS rows, sum(close) AS sum, sum(lot)::INT AS lots FROM read_parquet(${file})`,
  );
  expect(found).toEqual([{ rows: ROWS, sum: (ROWS * (ROWS - 1)) / 2, lots: 100 * ROWS }]);
  const [first] = await session.json(`SELECT symbol FROM read_parquet(${file}) LIMIT 1`);
  expect(first).toEqual({ symbol: codecs[0] === "ZSTD" ? "S0" : "S2" });
  const chunks = await session.json(
    `SELECT DISTINCT compression FROM parquet_metadata(${file}) WHERE path_in_schema = 'lot'`,
  );
  expect(chunks.map(({ compression }) => compression)).toEqual(codecs);
});

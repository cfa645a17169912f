import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Block, PanelShape } from "../../../src/dataset/panel/block.js";
import { blockScans } from "../../../src/dataset/panel/block-scan.js";
import { copyRows } from "../../../src/dataset/store/copy-rows.js";
import { Session } from "../../../src/db/session/session.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";

const FIRST_DAY = 18_000;

/** Symbols whose n-th one trades from the label `n % 3` on; every seventh value is missing. */
function blockOf(symbols: number, width: number): { shape: PanelShape; block: Block } {
  const all = Array.from({ length: symbols }, (_, s) => ({
    symbol: `${String(s).padStart(6, "0")}.SH`,
    region: "CN" as const,
    memberRanges: [],
  }));
  const days = Int32Array.from({ length: width }, (_, label) => FIRST_DAY + label);
  const shape: PanelShape = {
    labels: { count: width, days, times: undefined },
    symbols: all,
    fields: [{ name: "close", fill: "close" }],
    masks: [],
  };
  const cells = Float64Array.from({ length: symbols * width }, (_, cell) =>
    cell % 7 === 3 ? Number.NaN : cell,
  );
  const spans = {
    first: Int32Array.from({ length: symbols }, (_, s) => s % 3),
    last: new Int32Array(symbols).fill(width - 1),
  };
  const block: Block = {
    ...spans,
    index: 0,
    hasNext: false,
    since: 0,
    start: 0,
    symbols: all,
    width,
    fields: [cells],
    masks: [],
    traded: new Uint8Array(symbols * width).fill(1),
    factors: undefined,
    eligibleFrom: new Int32Array(symbols),
    bars: new Int32Array(symbols),
  };
  return { shape, block };
}

/** Rows that are not those of the block, by SQL. */
async function strangeRows(symbols: number, width: number): Promise<Record<string, unknown>> {
  const { shape, block } = blockOf(symbols, width);
  const source = blockScans(shape)(block, { start: 0, width });
  if (source === undefined) throw new Error("a block without rows");
  using session = await Session.open({ threads: 1 });
  const scan = session.scan(source);
  const [found] = await session.json(
    `WITH rows AS (
       SELECT symbol, CAST(substr(CAST(symbol AS VARCHAR), 1, 6) AS INTEGER) AS s,
         trade_date - (DATE '1970-01-01' + ${FIRST_DAY}) AS label, close
       FROM ${scan.sql})
     SELECT any_value(typeof(symbol))[:4] AS type, CAST(count(*) AS DOUBLE) AS rows,
       CAST(count(DISTINCT s) AS DOUBLE) AS symbols,
       CAST(count(*) FILTER (close IS DISTINCT FROM
         CASE WHEN (s * ${width} + label) % 7 <> 3 THEN s * ${width} + label END
         OR label < s % 3 OR length(CAST(symbol AS VARCHAR)) <> 9) AS DOUBLE) AS strange
     FROM rows`,
  );
  scan.release();
  return found as Record<string, unknown>;
}

test.each([
  ["few symbols, with numbers of 8 bits", 255, 20],
  ["more symbols, with numbers of 16 bits", 256, 20],
  ["a symbol that fills vectors", 2, 5000],
])("rows of one row group have their symbols as an ENUM: %s", async (_, symbols, width) => {
  const rows = symbols * width - Array.from({ length: symbols }, (_n, s) => s % 3).reduce((a, b) => a + b);
  expect(await strangeRows(symbols, width)).toEqual({ type: "ENUM", rows, symbols, strange: 0 });
});

test("rows of several row groups have their symbols as texts: each group has statistics of its own", async () => {
  expect(await strangeRows(1, 122_880)).toMatchObject({ type: "ENUM", strange: 0 });
  expect(await strangeRows(1, 122_881)).toEqual({ type: "VARC", rows: 122_881, symbols: 1, strange: 0 });
});

test("more symbols than numbers of 16 bits have are texts", async () => {
  // With one label, two of three symbols have no rows.
  const most = 65_535;
  expect(await strangeRows(3 * most, 1)).toEqual({ type: "ENUM", rows: most, symbols: most, strange: 0 });
  const more = { rows: most + 1, symbols: most + 1, strange: 0 };
  expect(await strangeRows(3 * most + 1, 1)).toEqual({ type: "VARC", ...more });
});

test.each([
  ["positive", undefined, true],
  ["zero", 0, true],
  ["negative", -0.5, false],
  ["zero with a sign", -0, false],
  ["infinite", Number.POSITIVE_INFINITY, false],
])(
  "a file with a cell that is %s is to the byte the file that DuckDB writes of doubles",
  async (_, cell, isOrdered) => {
    const { shape, block } = blockOf(5, 1000);
    const cells = block.fields[0] as Float64Array;
    // The second symbol has no row of its first label.
    cells[1000] = -1;
    if (cell !== undefined) cells[4444] = cell;
    const source = blockScans(shape)(block, { start: 0, width: 1000 });
    if (source === undefined) throw new Error("a block without rows");
    const close = source.columns.find(({ name }) => name === "close");
    expect(close?.hasOrderedBits?.()).toBe(isOrdered);
    using session = await Session.open({ threads: 1 });
    const folder = temporaryFolder();
    const [file, expected] = [join(folder, "file.parquet"), join(folder, "expected.parquet")];
    await copyRows(session, source, file);
    const asDoubles = source.columns.map(({ name, type, fill }) => ({ name, type, fill }));
    await copyRows(session, { ...source, columns: asDoubles }, expected);
    expect(readFileSync(file).equals(readFileSync(expected))).toBe(true);
  },
);

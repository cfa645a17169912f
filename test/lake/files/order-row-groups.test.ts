import { join } from "node:path";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { expect, test } from "vitest";
import { literal } from "../../../src/db/quote.js";
import type { Session } from "../../../src/db/session/session.js";
import { orderRowGroups } from "../../../src/lake/files/order-row-groups.js";
import { BARS_1M } from "../../../src/schema/bars.js";
import { openSession, temporaryFolder } from "../temporary-lake.js";

/** Rows per group; DuckDB writes no smaller groups. */
const GROUP = 2048;

/** A file with its row groups in the given order; `from` and `to` are in minutes. */
async function fileOf(
  session: Session,
  groups: readonly { readonly from: number; readonly symbolOf: string }[],
): Promise<string> {
  const file = join(temporaryFolder(), "groups.parquet");
  const parts = groups.map(
    ({ from, symbolOf }) =>
      `SELECT ${symbolOf} AS symbol, make_timestamptz((i + ${from}) * 60000000) AS timestamp FROM range(${GROUP}) r(i)`,
  );
  await session.run(`CREATE OR REPLACE TEMP TABLE parts AS ${parts.join(" UNION ALL ")}`);
  await session.run(
    `COPY parts TO ${literal(file)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${GROUP})`,
  );
  return file;
}

async function keysOf(session: Session, file: string): Promise<string[]> {
  const rows = await session.json<{ symbol: string; ms: bigint }>(
    `SELECT symbol, epoch_ms(timestamp) AS ms FROM read_parquet(${literal(file)}, file_row_number = true) ORDER BY file_row_number`,
  );
  return rows.map(({ symbol, ms }) => `${symbol} ${String(ms).padStart(15, "0")}`);
}

const two = (first: string, second: string): string => `if(i < 1000, '${first}', '${second}')`;
/** In order: a group with two symbols, three groups with one, and one with two again. */
const IN_ORDER = [
  { from: 0, symbolOf: two("A", "B") },
  { from: 5000, symbolOf: "'B'" },
  { from: 8000, symbolOf: "'B'" },
  { from: 12_000, symbolOf: "'B'" },
  { from: 15_000, symbolOf: two("B", "C") },
];

test.each([[[0, 1, 2, 3, 4]], [[4, 3, 2, 1, 0]], [[2, 0, 4, 1, 3]], [[1, 0]], [[0]]])(
  "row groups that stand as %j are put in order, for every reader",
  async (order) => {
    const session = await openSession();
    const file = await fileOf(
      session,
      order.map((index) => IN_ORDER[index] as (typeof IN_ORDER)[number]),
    );
    const before = await keysOf(session, file);
    expect(await orderRowGroups(session, file, BARS_1M)).toBe(true);
    const after = await keysOf(await openSession(), file);
    expect(after).toEqual(before.toSorted());
    const read = await parquetReadObjects({ file: await asyncBufferFromFile(file), compressors });
    expect(
      read.map((row) => `${row.symbol} ${String((row.timestamp as Date).getTime()).padStart(15, "0")}`),
    ).toEqual(after);
  },
);

test.each([
  [
    "of symbols",
    [
      { from: 0, symbolOf: two("A", "C") },
      { from: 0, symbolOf: "'B'" },
    ],
  ],
  [
    "of times",
    [
      { from: 0, symbolOf: "'A'" },
      { from: 1000, symbolOf: "'A'" },
    ],
  ],
  [
    "without any text",
    [
      { from: 0, symbolOf: "NULL::VARCHAR" },
      { from: 5000, symbolOf: "'A'" },
    ],
  ],
])("row groups with ranges %s that overlap, or none, cannot be put in order", async (_, groups) => {
  const session = await openSession();
  const file = await fileOf(session, groups);
  const before = await keysOf(session, file);
  expect(await orderRowGroups(session, file, BARS_1M)).toBe(false);
  expect(await keysOf(session, file)).toEqual(before);
});

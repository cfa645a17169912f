import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { literalList } from "../../../src/db/quote.js";
import type { Session } from "../../../src/db/session/session.js";
import { parquetRelation } from "../../../src/db/views/parquet-relation.js";
import { Lake } from "../../../src/lake/lake.js";
import { stageObjects } from "../../../src/lake/land/clear-values.js";
import { landBars, stageBars } from "../../../src/lake/land/land-bars.js";
import { Rejects } from "../../../src/lake/land/rejects.js";
import { upsert } from "../../../src/lake/land/upsert.js";
import type { DataFile, Snapshot } from "../../../src/lake/log/snapshot.js";
import {
  landedFiles,
  type OptimizeOptions,
  type OptimizeReport,
  optimize,
} from "../../../src/lake/maintenance/optimize.js";
import { folderStorage } from "../../../src/lake/storage/folder-storage.js";
import type { Storage } from "../../../src/lake/storage/storage.js";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import type { TableSchema } from "../../../src/schema/column.js";
import { BALANCE_SHEET } from "../../../src/schema/statements.js";
import { virtualClock } from "../../faults/clock/virtual-clock.js";
import { FINAL, land, openSession, T0, type TestBar, temporaryLake } from "../temporary-lake.js";

const SYMBOLS = ["000001.SZ", "000002.SZ", "300750.SZ", "600000.SH", "600519.SH", "601318.SH"];
const day = (n: number): number => Date.parse("2024-01-01T16:00:00Z") + n * 86_400_000;
const barsOf = (n: number): TestBar[] =>
  SYMBOLS.map((symbol, i) => ({ symbol, at: day(n), close: 10 + (i + n) / 100, volume: 100 * n + i }));

/** A lake with one small file for each of some days, with every symbol in each. */
async function scatteredLake(days: number): Promise<{ lake: Lake; session: Session }> {
  const [lake, session] = [temporaryLake(), await openSession()];
  for (let n = 0; n < days; n++) await land(session, lake, BARS_1D, barsOf(n));
  return { lake, session };
}

function run(
  session: Session,
  lake: Lake,
  options: Partial<OptimizeOptions> = {},
  table: TableSchema = BARS_1D,
): Promise<OptimizeReport> {
  return optimize(session, lake, table, { runId: "compaction", ...options }, virtualClock(T0));
}

async function contents(session: Session, lake: Lake, snapshot: Snapshot): Promise<unknown[]> {
  const rows = await parquetRelation(session, lake.filesOf(snapshot));
  return session.json(`SELECT * FROM (${rows}) ORDER BY ALL`);
}

/** The codecs of a version's files. */
async function codecsOf(session: Session, lake: Lake, snapshot: Snapshot): Promise<string[]> {
  const urls = [...snapshot.files.values()].map((file) => lake.urlOf(snapshot, file));
  const found = await session.json<{ compression: string }>(
    `SELECT DISTINCT compression FROM parquet_metadata(${literalList(urls)}) ORDER BY ALL`,
  );
  return found.map(({ compression }) => compression);
}

const newest = (lake: Lake, table: TableSchema = BARS_1D): Promise<Snapshot> =>
  new Lake(lake.location).snapshot(table);

/** Parquet files of a table on disk, live or not. */
function filesOnDisk(lake: Lake, table = "bars_1d"): string[] {
  return readdirSync(join(lake.location, table), { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".parquet"),
  );
}

function actionsAt(lake: Lake, version: number): Record<string, Record<string, unknown>>[] {
  const name = `bars_1d/_delta_log/${String(version).padStart(20, "0")}.json`;
  return readFileSync(join(lake.location, name), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, Record<string, unknown>>);
}

/** A view of the lake that calls `intrude` before each of its commits. */
function intrudedLake(folder: string, intrude: (commits: number) => Promise<void>): Lake {
  const inner = folderStorage(folder);
  let commits = 0;
  const storage: Storage = {
    ...inner,
    async putIfAbsent(path, text) {
      await intrude(++commits);
      return inner.putIfAbsent(path, text);
    },
  };
  return new Lake(folder, { storage });
}

test("many files become one a partition, sorted; the rows and older versions do not change", async () => {
  const { lake, session } = await scatteredLake(5);
  await land(session, lake, BARS_1D, [{ symbol: "AAPL.US", at: "2024-03-01T05:00:00Z" }]);
  await land(session, lake, BARS_1D, [{ symbol: "MSFT.US", at: "2024-03-01T05:00:00Z" }]);
  await land(session, lake, BARS_1D, [{ symbol: "00700.HK", at: "2024-03-01T16:00:00Z" }]);
  const before = await newest(lake);
  const rows = await contents(session, lake, before);
  const progress: string[] = [];

  const report = await run(session, lake, {
    onProgress: ({ partition, done, total }) => progress.push(`${partition} ${done}/${total}`),
  });

  expect(report).toMatchObject({
    table: "bars_1d",
    partitions: 2,
    asLanded: 1,
    skipped: [],
    filesBefore: 8,
    filesAfter: 3,
  });
  expect(report.version).toBe(before.version + 2);
  expect(report.bytesAfter).toBeLessThan(report.bytesBefore);
  expect(progress).toEqual(["region=CN/year=2024 0/2", "region=US/year=2024 1/2"]);
  const after = await newest(lake);
  expect(rows).toHaveLength(33);
  expect(await contents(session, lake, after)).toEqual(rows);
  const [cn] = [...after.files.values()].filter((file) => file.partitionValues.region === "CN");
  expect(cn?.stats?.numRecords).toBe(30);
  expect(await keysInFileOrder(session, lake, after, cn as DataFile)).toEqual(
    SYMBOLS.flatMap((symbol) => [0, 1, 2, 3, 4].map((n) => `${symbol} ${day(n)}`)),
  );
  expect(await contents(session, lake, before)).toEqual(rows);
});

test("a landed file that is alone in its partition is left as it is, and rewritten when asked: in the form that is quick to read", async () => {
  const { lake, session } = await scatteredLake(1);
  const before = await newest(lake);
  const rows = await contents(session, lake, before);
  expect(landedFiles(before)).toBe(0);
  expect(await run(session, lake)).toMatchObject({ partitions: 0, asLanded: 1, version: before.version });
  expect(await run(session, lake, { rewrite: true })).toMatchObject({
    partitions: 1,
    asLanded: 0,
    filesAfter: 1,
  });
  const after = await newest(lake);
  expect(await contents(session, lake, after)).toEqual(rows);
  expect(await codecsOf(session, lake, before)).toEqual(["ZSTD"]);
  expect(await codecsOf(session, lake, after)).toEqual(["SNAPPY"]);
  expect(await run(session, lake)).toMatchObject({ partitions: 0, version: after.version });
});

test("a chosen codec is stored with the table; compacted files are rewritten in it only when asked", async () => {
  const { lake, session } = await scatteredLake(2);
  await run(session, lake);
  const rows = await contents(session, lake, await newest(lake));
  for (const at of ["2024-03-01T05:00:00Z", "2024-03-02T05:00:00Z"])
    await land(session, lake, BARS_1D, [{ symbol: "AAPL.US", at }]);

  const chosen = await run(session, lake, { codec: "zstd" });
  expect(chosen).toMatchObject({ partitions: 1, codec: "zstd", otherCodecs: { snappy: 1 } });
  expect(await codecsOf(session, lake, await newest(lake))).toEqual(["SNAPPY", "ZSTD"]);

  for (const at of ["2024-03-01T16:00:00Z", "2024-03-02T16:00:00Z"])
    await land(session, lake, BARS_1D, [{ symbol: "00700.HK", at }]);
  const later = await run(session, lake);
  expect(later).toMatchObject({ partitions: 1, codec: "zstd", otherCodecs: { snappy: 1 } });

  const rewritten = await run(session, lake, { rewrite: true });
  expect(rewritten).toMatchObject({ partitions: 1, codec: "zstd", otherCodecs: {}, filesAfter: 3 });
  const after = await newest(lake);
  expect(await codecsOf(session, lake, after)).toEqual(["ZSTD"]);
  expect(await contents(session, lake, after)).toEqual(expect.arrayContaining(rows));
  expect(await run(session, lake, { codec: "zstd", rewrite: true })).toMatchObject({
    partitions: 0,
    version: after.version,
  });
  await run(session, lake, { codec: "lz4", rewrite: true });
  expect(await codecsOf(session, lake, await newest(lake))).toEqual(["LZ4_RAW"]);
});

test("the commit says that no rows changed, and what it did", async () => {
  const { lake, session } = await scatteredLake(3);
  const before = await newest(lake);
  const { version } = await run(session, lake);
  const actions = actionsAt(lake, version);
  const after = await newest(lake);
  const sizes = (snapshot: Snapshot): number =>
    [...snapshot.files.values()].reduce((sum, f) => sum + f.size, 0);
  expect(actions[0]?.commitInfo).toMatchObject({
    operation: "OPTIMIZE",
    operationParameters: { runId: "compaction" },
    operationMetrics: {
      numRemovedFiles: "3",
      numAddedFiles: "1",
      numRemovedBytes: String(sizes(before)),
      numAddedBytes: String(sizes(after)),
      numInsertedRows: "0",
      numUpdatedRows: "0",
    },
  });
  expect(actions.slice(1).map((action) => Object.keys(action)[0])).toEqual([
    "remove",
    "remove",
    "remove",
    "add",
  ]);
  expect(actions.slice(1).flatMap((action) => Object.values(action).map((one) => one.dataChange))).toEqual(
    Array(4).fill(false),
  );
});

test.each<[string, (symbol: number) => number, number]>([
  ["equal symbols: as many files as the bytes need", () => 240, 4],
  ["one symbol above the target has a separate file", (symbol) => (symbol === 5 ? 1400 : 60), 3],
])("above the target, outputs are split between symbols; %s", async (_, minutes, expected) => {
  const [lake, session] = [temporaryLake(), await openSession()];
  for (let n = 0; n < 5; n++) await landMinutes(session, lake, n, minutes);
  const before = await newest(lake, BARS_1M);
  const rows = await contents(session, lake, before);
  // Landed data takes a quarter more space when it is compacted.
  const targetBytes = Math.ceil(
    ([...before.files.values()].reduce((sum, file) => sum + file.size, 0) * 1.25) / 4,
  );
  const report = await run(session, lake, { targetBytes }, BARS_1M);
  const after = await newest(lake, BARS_1M);
  expect(report).toMatchObject({ partitions: 1, filesBefore: 5, filesAfter: expected });
  expect(await contents(session, lake, after)).toEqual(rows);
  const ranges = [...after.files.values()]
    .map(({ stats }) => ({ min: stats?.minValues?.symbol ?? "", max: stats?.maxValues?.symbol ?? "" }))
    .sort((a, b) => (a.min < b.min ? -1 : 1));
  expect(ranges[0]?.min).toBe("600000.SH");
  for (const [i, { min }] of ranges.slice(1).entries()) expect(min > (ranges[i]?.max ?? "")).toBe(true);
  expect(filesOnDisk(lake, "bars_1m")).toHaveLength(before.files.size + after.files.size);

  const again = await run(session, lake, { targetBytes }, BARS_1M);
  expect(again).toMatchObject({ partitions: 0, version: report.version });
});

test("with any target, the rows do not change and a second run finds nothing to do", async () => {
  const { lake, session } = await scatteredLake(12);
  for (const targetBytes of [1, 2500, 3000, 4000, 6000, 9000]) {
    const rows = await contents(session, lake, await newest(lake));
    const { version } = await run(session, lake, { targetBytes });
    expect(await contents(session, lake, await newest(lake))).toEqual(rows);
    expect(await run(session, lake, { targetBytes })).toMatchObject({ partitions: 0, version });
  }
});

test("a table without a commit gets none", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  expect(await run(session, lake)).toMatchObject({ partitions: 0, version: -1 });
  expect(existsSync(lake.location)).toBe(false);
});

test("columns that only some files have remain", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  const statement = { symbol: "600519.SH", announce_date: "2024-04-01", first_seen_at: T0, region: "CN" };
  const deliveries = [
    { ...statement, period_end: "2023-12-31" },
    { ...statement, period_end: "2024-12-31", own_field: 7 },
  ];
  for (const [index, row] of deliveries.entries()) {
    const added =
      index === 0 ? [] : [{ name: "own_field", type: "double", nullable: true, doc: "" } as const];
    await stageObjects(session, "statements", [...BALANCE_SHEET.columns, ...added], [row]);
    await upsert(session, lake, BALANCE_SHEET, "statements", { operation: "TEST", runId: "test", now: T0 });
  }
  const rows = await contents(session, lake, await newest(lake, BALANCE_SHEET));
  expect(await run(session, lake, {}, BALANCE_SHEET)).toMatchObject({ partitions: 1, filesAfter: 1 });
  const after = await contents(session, lake, await newest(lake, BALANCE_SHEET));
  expect(after).toEqual(rows);
  expect(after).toMatchObject([{ own_field: null }, { own_field: 7 }]);
});

test("an append that comes between plan and commit remains, and the compaction is committed after it", async () => {
  const { lake, session } = await scatteredLake(4);
  const other = await openSession();
  const intruded = intrudedLake(lake.location, async (commits) => {
    if (commits === 1) await land(other, new Lake(lake.location), BARS_1D, barsOf(9));
  });
  const report = await run(session, intruded);
  expect(report).toMatchObject({ partitions: 1, skipped: [], filesBefore: 4, filesAfter: 2, version: 5 });
  expect(Object.keys(actionsAt(lake, 4).at(-1) ?? {})).toEqual(["add"]);
  expect(actionsAt(lake, 5)[0]?.commitInfo?.operation).toBe("OPTIMIZE");
  expect(filesOnDisk(lake)).toHaveLength(6);
  expect(await keys(session, lake)).toEqual(expectedKeys([0, 1, 2, 3, 9]));
});

test("where a file was replaced during a compaction, it begins again with the new one", async () => {
  const { lake, session } = await scatteredLake(4);
  const other = await openSession();
  const intruded = intrudedLake(lake.location, async (commits) => {
    if (commits === 1) await land(other, new Lake(lake.location), BARS_1D, correction(20));
  });
  expect(await run(session, intruded)).toMatchObject({
    partitions: 1,
    skipped: [],
    filesAfter: 1,
    version: 5,
  });
  expect(await keys(session, lake)).toEqual(expectedKeys([0, 1, 2, 3]));
  expect(await corrected(session, lake)).toBe(20);
  // The first four files, the correction, and the compacted file: the file that was written in vain is deleted.
  expect(filesOnDisk(lake)).toHaveLength(6);
});

test("a partition whose files are replaced each time is left as the others left it, and named", async () => {
  const { lake, session } = await scatteredLake(3);
  const [other, clock] = [await openSession(), virtualClock(T0)];
  const intruded = intrudedLake(lake.location, async (commits) => {
    await land(other, new Lake(lake.location), BARS_1D, correction(20 + commits));
  });
  const report = await optimize(session, intruded, BARS_1D, { runId: "compaction" }, clock);
  expect(report).toMatchObject({ partitions: 0, skipped: ["region=CN/year=2024"], filesAfter: 3 });
  const tries = clock.slept.length + 1;
  expect(tries).toBeGreaterThan(1);
  expect(report.version).toBe(2 + tries);
  expect(await keys(session, lake)).toEqual(expectedKeys([0, 1, 2]));
  expect(await corrected(session, lake)).toBe(20 + tries);
  expect(filesOnDisk(lake)).toHaveLength(3 + tries);
});

test("files with other rows than the log says are refused: nothing is committed and no file is left behind", async () => {
  const { lake, session } = await scatteredLake(2);
  const log = join(lake.location, "bars_1d/_delta_log/00000000000000000001.json");
  writeFileSync(log, readFileSync(log, "utf8").replace('\\"numRecords\\":6', '\\"numRecords\\":7'));
  await expect(run(session, new Lake(lake.location))).rejects.toThrow(
    /bars_1d, partition region=CN\/year=2024.* 13 rows .* 12;/,
  );
  expect((await newest(lake)).version).toBe(1);
  expect(filesOnDisk(lake)).toHaveLength(2);
});

/** Lands minutes of twelve symbols, with prices that do not compress; `minutes` gives the number per symbol. */
async function landMinutes(
  session: Session,
  lake: Lake,
  n: number,
  minutes: (symbol: number) => number,
): Promise<void> {
  await stageBars(session, "minutes");
  for (let symbol = 0; symbol < 12; symbol++) {
    await session.run(
      `INSERT INTO minutes (symbol, timestamp, open, high, low, close, volume, amount, lot, source, line)
       SELECT '${600_000 + symbol}.SH', make_timestamptz((${day(n)} + 60000 * i) * 1000), price, price, price, price,
         hash(i, ${symbol}) % 1000000, price, 1, 'test', i
       FROM (SELECT i, hash(i, ${symbol}, ${n}) / 1e12 AS price FROM range(${minutes(symbol)}) t(i))`,
    );
  }
  const end = { operation: "TEST", runId: "test", now: T0, finalEnd: FINAL };
  await landBars(session, lake, BARS_1M, "minutes", { ...end, rejects: new Rejects(session, "test") });
}

/** A delivery that changes one row of the first file. */
const correction = (close: number): TestBar[] => [{ symbol: "600519.SH", at: day(0), close, high: 99 }];

async function corrected(session: Session, lake: Lake): Promise<number | undefined> {
  const rows = await parquetRelation(session, lake.filesOf(await newest(lake)));
  const [row] = await session.json<{ close: number }>(
    `SELECT close FROM (${rows}) WHERE symbol = '600519.SH' AND epoch_ms(timestamp) = ${day(0)}`,
  );
  return row?.close;
}

function expectedKeys(days: readonly number[]): string[] {
  return SYMBOLS.flatMap((symbol) => days.map((n) => `${symbol} ${day(n)}`));
}

async function keys(session: Session, lake: Lake): Promise<string[]> {
  const rows = await parquetRelation(session, lake.filesOf(await newest(lake)));
  const found = await session.json<{ key: string }>(
    `SELECT symbol || ' ' || epoch_ms(timestamp) AS key FROM (${rows}) ORDER BY symbol, timestamp`,
  );
  return found.map(({ key }) => key);
}

async function keysInFileOrder(
  session: Session,
  lake: Lake,
  snapshot: Snapshot,
  file: DataFile,
): Promise<string[]> {
  const rows = await parquetRelation(session, lake.filesOf(snapshot, [file]));
  const found = await session.json<{ key: string }>(
    `SELECT symbol || ' ' || epoch_ms(timestamp) AS key FROM (${rows})`,
  );
  return found.map(({ key }) => key);
}

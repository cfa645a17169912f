import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DAY_MS } from "../../../src/core/time.js";
import { Lake } from "../../../src/lake/lake.js";
import { commit } from "../../../src/lake/log/commit.js";
import { readLog } from "../../../src/lake/log/read-log.js";
import { emptySnapshot, type Snapshot } from "../../../src/lake/log/snapshot.js";
import { checkLog } from "../../../src/lake/maintenance/check/check-log.js";
import type { Finding } from "../../../src/lake/maintenance/check/finding.js";
import { vacuum } from "../../../src/lake/maintenance/vacuum.js";
import { folderStorage } from "../../../src/lake/storage/folder-storage.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { contentOf, longLog } from "../log/long-log.js";
import { T0, temporaryLake } from "../temporary-lake.js";

const logFolder = (lake: Lake): string => join(lake.location, "bars_1d", "_delta_log");
const entry = (version: number, suffix = "json"): string => `${String(version).padStart(20, "0")}.${suffix}`;
const entries = (lake: Lake): string[] => readdirSync(logFolder(lake)).sort();
/** The versions of the commits, and those of the checkpoints. */
const versionsIn = (lake: Lake): [commits: number[], checkpoints: number[]] => {
  const of = (suffix: string): number[] =>
    entries(lake).flatMap((name) => (name.endsWith(suffix) ? [Number.parseInt(name, 10)] : []));
  return [of(".json"), of(".checkpoint.parquet")];
};
const upTo = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, n) => from + n);

/** A log of 170 versions, one each half day from T0 on; its checkpoints are of the days 25, 50 and 75. */
let template: string;
let written: Snapshot;

beforeAll(async () => {
  template = mkdtempSync(join(tmpdir(), "barlake-"));
  written = await longLog(new Lake(template, { hasDatabase: false }), 170, (n) => T0 + (n * DAY_MS) / 2);
});
afterAll(() => rmSync(template, { recursive: true, force: true }));

async function halfDailyLog(): Promise<{ readonly lake: Lake; readonly newest: Snapshot }> {
  const lake = temporaryLake();
  cpSync(template, lake.location, { recursive: true });
  return { lake, newest: written };
}

const day = (n: number): number => T0 + n * DAY_MS;
const readAt = (lake: Lake, version?: number): Promise<Snapshot> =>
  readLog(folderStorage(lake.location), emptySnapshot(BARS_1D), { version });

async function findings(lake: Lake): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  await checkLog(lake.storage, BARS_1D, found);
  return found;
}

async function contents(lake: Lake, from: number): Promise<object[]> {
  const found: object[] = [];
  for (let version = from; version < 170; version += 14) {
    found.push(contentOf(await readAt(lake, version)));
    const asOf = day(version / 2) + 1;
    found.push(contentOf(await readLog(folderStorage(lake.location), emptySnapshot(BARS_1D), { asOf })));
  }
  return found;
}

test("entries before the newest checkpoint that is over 30 days old go; what is left reads as before", async () => {
  const { lake } = await halfDailyLog();
  const before = await contents(lake, 100);
  const newest = contentOf(await readAt(lake));
  const options = { now: day(80) + 1, retentionMs: 7 * DAY_MS };
  expect(await vacuum(lake, BARS_1D, { ...options, dryRun: true })).toMatchObject({ logEntries: 101 });
  expect(versionsIn(lake)).toEqual([upTo(0, 169), [50, 100, 150]]);
  expect(await vacuum(lake, BARS_1D, options)).toMatchObject({ logEntries: 101 });
  expect(versionsIn(lake)).toEqual([upTo(100, 169), [100, 150]]);
  expect(await contents(lake, 100)).toEqual(before);
  expect(contentOf(await readAt(lake))).toEqual(newest);
  await expect(readAt(lake, 99)).rejects.toThrow(/log begins neither at version 0 nor with a checkpoint/);
  expect(await findings(lake)).toEqual([]);
  expect(await vacuum(lake, BARS_1D, options)).toMatchObject({ logEntries: 0 });
});

test.each<[string, Readonly<Record<string, string>>, retentionDays: number, first: number]>([
  ["a longer retention of versions", {}, 31, 50],
  ["a longer retention of the table", { "delta.logRetentionDuration": "interval 4 weeks 3 days" }, 7, 50],
  ["a shorter one", { "delta.logRetentionDuration": "interval 1 day" }, 1, 150],
  [
    "a shorter one, and a longer retention of versions",
    { "delta.logRetentionDuration": "24 hours" },
    20,
    100,
  ],
  ["a retention that is not understood", { "delta.logRetentionDuration": "interval 1 month" }, 7, 0],
  ["a table whose log is not to be shortened", { "delta.enableExpiredLogCleanup": "false" }, 7, 0],
])("%s decides which entries go", async (_, configuration, retentionDays, first) => {
  const { lake, newest } = await halfDailyLog();
  const { metaData } = newest as Snapshot & Required<Pick<Snapshot, "metaData">>;
  if (metaData === undefined) throw new Error("the log has no metadata");
  await commit(lake, newest, [{ metaData: { ...metaData, configuration } }], day(85));
  await vacuum(lake, BARS_1D, { now: day(80) + 1, retentionMs: retentionDays * DAY_MS });
  expect(versionsIn(lake)[0][0]).toBe(first);
});

test("a checkpoint that is damaged, or is not what its log comes to, replaces no entry", async () => {
  const { lake, newest } = await halfDailyLog();
  const [sound, other] = [100, 150].map((n) =>
    readFileSync(join(logFolder(lake), entry(n, "checkpoint.parquet"))),
  );
  const options = { now: day(80) + 1, retentionMs: 7 * DAY_MS };
  for (const bad of [sound?.subarray(0, 1000), other]) {
    writeFileSync(join(logFolder(lake), entry(100, "checkpoint.parquet")), bad as Buffer);
    expect(await vacuum(lake, BARS_1D, { ...options, dryRun: true })).toMatchObject({ logEntries: 50 });
  }
  truncateSync(join(logFolder(lake), entry(50, "checkpoint.parquet")), 1000);
  expect(await vacuum(lake, BARS_1D, options)).toMatchObject({ logEntries: 0 });
  expect(contentOf(await readLog(lake.storage, emptySnapshot(BARS_1D), { whole: true }))).toEqual(
    contentOf(newest),
  );
});

test("wherever it is ended, all versions that are to remain can be read, and the next one goes on", async () => {
  const { lake: original } = await halfDailyLog();
  const before = await contents(original, 100);
  const options = { now: day(80) + 1, retentionMs: 7 * DAY_MS };
  const all = new Map(entries(original).map((name) => [name, readFileSync(join(logFolder(original), name))]));
  for (const ended of [0, 2, 60]) {
    for (const [name, content] of all) writeFileSync(join(logFolder(original), name), content);
    const inner = folderStorage(original.location);
    let left = ended;
    const lake = new Lake(original.location, {
      hasDatabase: false,
      storage: {
        ...inner,
        delete: async (path) => {
          if (left-- === 0) throw new Error("killed");
          if (left >= 0) await inner.delete(path);
        },
      },
    });
    await expect(vacuum(lake, BARS_1D, options)).rejects.toThrow("killed");
    expect(await contents(original, 100)).toEqual(before);
    expect(await findings(original)).toEqual([]);
    await vacuum(new Lake(original.location), BARS_1D, options);
    expect(versionsIn(original)).toEqual([upTo(100, 169), [100, 150]]);
  }
});

test("a process that has read an entry which is gone since goes on with the newest version", async () => {
  const { lake } = await halfDailyLog();
  const newest = contentOf(await readAt(lake));
  const other = new Lake(lake.location, { hasDatabase: false });
  other.remember(await readAt(lake, 60));
  let replaced = 0;
  other.onReplaced(() => replaced++);
  await vacuum(lake, BARS_1D, { now: day(80) + 1, retentionMs: 7 * DAY_MS });
  expect(contentOf(await other.snapshot(BARS_1D))).toEqual(newest);
  expect(replaced).toBe(0);
});

test("files that were removed within the retention remain, also where the log begins with a checkpoint", async () => {
  const { lake } = await halfDailyLog();
  const { removed } = await lake.wholeSnapshot(BARS_1D);
  for (const version of upTo(0, 99)) rmSync(join(logFolder(lake), entry(version)));
  rmSync(join(logFolder(lake), entry(50, "checkpoint.parquet")));
  const shortened = await new Lake(lake.location).wholeSnapshot(BARS_1D);
  const recent = [...removed].filter(([, { deletionTimestamp }]) => (deletionTimestamp ?? 0) >= day(50));
  expect(recent.length).toBeGreaterThan(60);
  expect([...shortened.removed.keys()]).toEqual(expect.arrayContaining(recent.map(([path]) => path)));
});

import { cpSync, mkdirSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DAY_MS } from "../../../src/core/time.js";
import { Lake } from "../../../src/lake/lake.js";
import { vacuum, vacuumStaging, vacuumTime } from "../../../src/lake/maintenance/vacuum.js";
import { openReader } from "../../../src/lake/open-reader.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { land, openSession, queryLake, T0, temporaryLake } from "../temporary-lake.js";

const BAR = "2026-11-02T07:00:00Z";

/** A bar that is landed, changed after a day, and again two days later: three versions, one live and two old files. */
async function changedTwice(): Promise<Lake> {
  const [lake, session] = [temporaryLake(), await openSession()];
  for (const n of [0, 1, 2]) {
    await land(session, lake, BARS_1D, [{ at: BAR, close: 10 + n / 4 }], { now: T0 + n * DAY_MS });
  }
  return lake;
}

function dataFiles(lake: Lake): string[] {
  return readdirSync(join(lake.location, "bars_1d"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".parquet"))
    .sort();
}

async function closeAt(lake: Lake, version: number): Promise<number | undefined> {
  const versions = new Map([["bars_1d", version]]);
  const [row] = await queryLake<{ close: number }>(lake, "SELECT close FROM bars_1d", { versions });
  return row?.close;
}

/** Puts a file into the table that no version names, written the given time before T0. */
function stray(lake: Lake, name: string, ageMs: number): void {
  const path = join(lake.location, "bars_1d", name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, "x");
  utimesSync(path, new Date(), new Date(T0 - ageMs));
}

test("versions within the retention remain readable, and files that only older ones have are deleted", async () => {
  const lake = await changedTwice();
  const now = T0 + 10 * DAY_MS;
  expect(await vacuum(lake, BARS_1D, { now, retentionMs: 9 * DAY_MS })).toMatchObject({
    deleted: [],
    kept: 2,
  });
  const report = await vacuum(lake, BARS_1D, { now, retentionMs: 8.5 * DAY_MS });
  expect(report).toMatchObject({ table: "bars_1d", kept: 1 });
  expect(report.deleted).toHaveLength(1);
  expect(dataFiles(lake)).toHaveLength(2);
  expect(await closeAt(lake, 1)).toBe(10.25);
  expect(await closeAt(lake, 2)).toBe(10.5);
  await expect(closeAt(lake, 0)).rejects.toThrow(
    /^table bars_1d: version 0 can no longer be read: region=CN\/year=2026\/p-.*\.parquet is gone$/,
  );
});

test("a dry run reports the same, and deletes nothing", async () => {
  const lake = await changedTwice();
  const options = { now: T0 + 30 * DAY_MS, retentionMs: DAY_MS };
  const before = dataFiles(lake);
  const planned = await vacuum(lake, BARS_1D, { ...options, dryRun: true });
  expect(dataFiles(lake)).toEqual(before);
  expect(await vacuum(lake, BARS_1D, options)).toEqual(planned);
  expect(dataFiles(lake)).toHaveLength(1);
});

test("a file that no version knows goes after a day, not while a writer may be about to commit it", async () => {
  const lake = await changedTwice();
  stray(lake, "region=CN/year=2026/p-killed.parquet", DAY_MS + 1);
  stray(lake, "region=CN/year=2026/p-writing.parquet", DAY_MS - 1);
  const { deleted } = await vacuum(lake, BARS_1D, { now: T0, retentionMs: 0, dryRun: true });
  expect(deleted.map(({ path }) => path)).toContain("region=CN/year=2026/p-killed.parquet");
  expect(deleted.map(({ path }) => path)).not.toContain("region=CN/year=2026/p-writing.parquet");
  const later = await vacuum(lake, BARS_1D, { now: T0, retentionMs: 7 * DAY_MS });
  expect(later.deleted).toEqual([]);
});

test("the log, and what is hidden, is no data", async () => {
  const lake = await changedTwice();
  for (const name of [
    "_delta_log/_last_checkpoint",
    "_index/a.parquet",
    ".hidden.parquet",
    "region=CN/_tmp/b.parquet",
  ])
    stray(lake, name, 1000 * DAY_MS);
  const { deleted } = await vacuum(lake, BARS_1D, { now: T0 + 1000 * DAY_MS, retentionMs: 0 });
  expect(deleted.every(({ path }) => /^region=CN\/year=2026\/p-[^/]*\.parquet$/.test(path))).toBe(true);
  expect(deleted).toHaveLength(2);
});

test("a table without a commit, or without a folder, has nothing to delete", async () => {
  const lake = temporaryLake();
  expect(await vacuum(lake, BARS_1D, { now: T0, retentionMs: 0 })).toEqual({
    table: "bars_1d",
    deleted: [],
    kept: 0,
    logEntries: 0,
  });
});

test("a file that is committed between listing and reading the log remains", async () => {
  const lake = await changedTwice();
  const session = await openSession();
  const racing = new Lake(lake.location);
  const walk = racing.storage.walk.bind(racing.storage);
  Object.assign(racing.storage, {
    async walk(folder: string) {
      const found = await walk(folder);
      await land(session, lake, BARS_1D, [{ at: "2026-11-03T07:00:00Z" }], { now: T0 + 3 * DAY_MS });
      return found;
    },
  });
  await vacuum(racing, BARS_1D, { now: T0 + 1000 * DAY_MS, retentionMs: 0 });
  const { session: reader } = await openReader(lake);
  using rows = reader;
  expect(await rows.json("SELECT count(*)::INTEGER AS n FROM bars_1d")).toEqual([{ n: 2 }]);
});

test("what killed processes left outside the tables goes a day after it was written", async () => {
  const lake = await changedTwice();
  for (const [name, age] of [
    ["old.parquet", DAY_MS + 1000],
    ["young.parquet", DAY_MS - 1000],
  ] as const) {
    stray(lake, `../.staging/spill/${name}`, age);
  }
  const names = async (dryRun: boolean): Promise<string[]> =>
    (await vacuumStaging(lake, { now: T0, dryRun })).map(({ path }) => path);
  expect(await names(true)).toEqual(["spill/old.parquet"]);
  expect(await names(false)).toEqual(["spill/old.parquet"]);
  expect(readdirSync(join(lake.location, ".staging/spill"))).toEqual(["young.parquet"]);
});

test("with a clock that is ahead, what a writer is about to commit remains", async () => {
  const lake = await changedTwice();
  for (const name of ["region=CN/year=2026/p-writing.parquet", "../.staging/spill/writing.parquet"]) {
    mkdirSync(join(lake.location, "bars_1d", name, ".."), { recursive: true });
    writeFileSync(join(lake.location, "bars_1d", name), "x");
  }
  const ahead = { now: () => Date.now() + 40 * DAY_MS };
  const now = await vacuumTime(lake, ahead);
  const { deleted } = await vacuum(lake, BARS_1D, { now, retentionMs: 0 });
  expect(deleted.map(({ path }) => path)).not.toContain("region=CN/year=2026/p-writing.parquet");
  expect(await vacuumStaging(lake, { now })).toEqual([]);
  // A clock that is behind keeps more than necessary.
  expect(await vacuumTime(lake, { now: () => 1000 })).toBe(1000);
  // A lake that does not exist is not created.
  expect(await vacuumTime(new Lake(join(lake.location, "none")), { now: () => 1000 })).toBe(1000);
  expect(readdirSync(lake.location)).not.toContain("none");
});

test("no file is deleted that a lake has which came into the place of the listed one", async () => {
  const { location, storage } = await changedTwice();
  const backup = `${location}.backup`;
  cpSync(location, backup, { recursive: true });
  // The file of the first version is live there.
  for (const version of [1, 2])
    rmSync(join(backup, "bars_1d", "_delta_log", `${String(version).padStart(20, "0")}.json`));
  let lists = 0;
  const list: typeof storage.list = (folder, after) => {
    // The first list is that of the version whose dead files are deleted.
    if (++lists === 2) {
      renameSync(location, `${location}.old`);
      cpSync(backup, location, { recursive: true });
    }
    return storage.list(folder, after);
  };
  const lake = new Lake(location, { hasDatabase: false, storage: { ...storage, list } });
  const ended = vacuum(lake, BARS_1D, { now: T0 + 10 * DAY_MS, retentionMs: 0 });
  await expect(ended).rejects.toThrow(
    "table bars_1d: was replaced, as by a backup, while its files were deleted",
  );
  expect(await closeAt(new Lake(location), 0)).toBe(10);
});

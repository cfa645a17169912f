import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openLake } from "../../../../src/api/lake/open-lake.js";
import { LakeError } from "../../../../src/core/errors.js";
import { type Clock, DAY_MS } from "../../../../src/core/time.js";
import type { Session } from "../../../../src/db/session/session.js";
import { Lake } from "../../../../src/lake/lake.js";
import { landStatements } from "../../../../src/lake/land/land-statements.js";
import { Rejects } from "../../../../src/lake/land/rejects.js";
import { commit, fenceOff } from "../../../../src/lake/log/commit.js";
import type { Txn } from "../../../../src/lake/log/delta-actions.js";
import { readHistory } from "../../../../src/lake/log/history.js";
import { VersionGone } from "../../../../src/lake/log/log-files.js";
import { optimize } from "../../../../src/lake/maintenance/optimize.js";
import {
  type RestoreReport,
  type RestoreTarget,
  restoreTable,
} from "../../../../src/lake/maintenance/restore-table.js";
import { vacuum } from "../../../../src/lake/maintenance/vacuum.js";
import { BARS_1D } from "../../../../src/schema/bars.js";
import { METRICS } from "../../../../src/schema/statements.js";
import { HAS_STORE, storeLakes } from "../../../object-store/store-lakes.js";
import { land, openSession, queryLake, T0, temporaryFolder, temporaryLake } from "../../temporary-lake.js";

const [DAY_1, DAY_2] = ["2026-11-18T16:00:00Z", "2026-11-19T16:00:00Z"];
const EMPTY: RestoreTarget = { kind: "empty" };
const version = (n: number): RestoreTarget => ({ kind: "version", version: n });
const clockAt = (now: number): Clock => ({ now: () => now, sleep: () => Promise.resolve() });

function restore(lake: Lake, target: RestoreTarget, now = T0 + DAY_MS): Promise<RestoreReport> {
  return restoreTable(lake, BARS_1D, target, { runId: `restore-${now}`, clock: clockAt(now) });
}

async function closes(lake: Lake, at?: number): Promise<number[]> {
  const versions = at === undefined ? {} : { versions: new Map([["bars_1d", at]]) };
  const rows = await queryLake<{ close: number }>(lake, "SELECT close FROM bars_1d ORDER BY ALL", versions);
  return rows.map(({ close }) => close);
}

/** Version 0 has a bar, version 1 one more, and version 2 another close of the first one. */
async function threeVersions(lake = temporaryLake(), session?: Session): Promise<Lake> {
  const own = session ?? (await openSession(lake.access));
  await land(own, lake, BARS_1D, [{ at: DAY_1, close: 10 }], { now: T0, responses: ["r0"] });
  await land(own, lake, BARS_1D, [{ at: DAY_2, close: 11 }], { now: T0 + 1000, responses: ["r1"] });
  await land(own, lake, BARS_1D, [{ at: DAY_1, close: 12 }], { now: T0 + 2000, responses: ["r2"] });
  return lake;
}

test("a table has the rows of the old version again, as a new version; every version reads as before", async () => {
  const lake = await threeVersions();
  const report = await restore(lake, version(1));
  expect(report).toMatchObject({
    table: "bars_1d",
    from: 2,
    to: 1,
    version: 3,
    rowsBefore: 2,
    rowsAfter: 2,
    rowsAdded: 1,
    rowsRemoved: 1,
    filesAdded: 1,
    filesRemoved: 1,
    undone: [{ version: 2, operation: "TEST", runId: "test" }],
  });
  const read = new Lake(lake.location);
  expect(await closes(read)).toEqual([10, 11]);
  expect([await closes(read, 0), await closes(read, 1), await closes(read, 2)]).toEqual([
    [10],
    [10, 11],
    [11, 12],
  ]);
  expect((await readHistory(lake.storage, BARS_1D)).at(-1)).toMatchObject({
    version: 3,
    operation: "RESTORE",
    restoredTo: 1,
    runId: `restore-${T0 + DAY_MS}`,
  });
});

test("what is settled already is left: the same version, the same rows after a compaction, and an empty table", async () => {
  const [lake, session] = [await threeVersions(), await openSession()];
  expect(await restore(lake, version(2))).toMatchObject({ from: 2, to: 2, version: undefined, undone: [] });
  const { version: compacted } = await optimize(
    session,
    lake,
    BARS_1D,
    { runId: "test" },
    clockAt(T0 + 3000),
  );
  expect(compacted).toBeGreaterThan(2);
  expect(await restore(lake, version(2))).toMatchObject({ version: undefined, rowsBefore: 2, rowsAfter: 2 });
  expect(await restore(lake, EMPTY)).toMatchObject({ to: undefined, version: compacted + 1, rowsAfter: 0 });
  expect(await restore(lake, EMPTY)).toMatchObject({ version: undefined });
  expect(await closes(lake)).toEqual([]);
  expect((await readHistory(lake.storage, BARS_1D)).at(-1)?.restoredTo).toBe(-1);
  expect(await restore(temporaryLake(), { kind: "time", asOf: T0 })).toMatchObject({
    from: -1,
    version: undefined,
  });
});

test("a restore can be undone, and names what it undoes; what is undone already is not named again", async () => {
  const lake = await threeVersions();
  await restore(lake, version(0), T0 + 5000);
  const undone = async (target: RestoreTarget, now: number): Promise<number[]> =>
    (await restore(lake, target, now)).undone.map((one) => one.version);
  expect(await undone(version(2), T0 + 6000)).toEqual([3]);
  expect(await closes(lake)).toEqual([11, 12]);
  expect(await undone(version(0), T0 + 7000)).toEqual([4, 2, 1]);
  expect(await undone(EMPTY, T0 + 8000)).toEqual([5, 0]);
});

test("jobs go on from where they were then, and a fence remains", async () => {
  const lake = await threeVersions();
  const record = async (txn: Txn): Promise<void> => {
    const actions = [{ commitInfo: { timestamp: T0 + 2000 } }, { txn }];
    await commit(lake, await lake.snapshot(BARS_1D), actions, T0 + 2000);
  };
  await record({ appId: "search", version: 5 });
  await fenceOff(lake, BARS_1D, { id: "paused", runId: "paused" }, T0 + 2000);
  const session = await openSession();
  await land(session, lake, BARS_1D, [{ at: DAY_1, close: 13 }], { now: T0 + 3000 });
  await record({ appId: "search", version: 9 });
  await record({ appId: "other", version: 1 });
  const names = async (): Promise<string[]> =>
    [...(await new Lake(lake.location).snapshot(BARS_1D)).txns.values()]
      .filter(({ appId }) => !appId.startsWith("restored/"))
      .map(({ appId, version: n }) => `${appId} ${n}`)
      .sort();
  await restore(lake, version(3), T0 + 4000);
  expect(await names()).toEqual(["fenced/paused 0", "r0 0", "r1 0", "r2 0", "search 5"]);
  await restore(lake, version(2), T0 + 4000);
  // Nothing was to be done: the rows are the same.
  expect(await names()).toContain("search 5");
  await restore(lake, EMPTY, T0 + 5000);
  expect(await names()).toEqual(["fenced/paused 0"]);
});

test("columns that were added since remain, and are null in the files of before", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  const deliver = async (fields: string, now: number): Promise<void> => {
    await session.run(`CREATE OR REPLACE TEMP TABLE staged AS SELECT '600519.SH' AS symbol,
      DATE '2026-06-30' AS period_end, CAST(NULL AS DATE) AS announce_date, 'test' AS source, 1 AS line, ${fields}`);
    const options = { operation: "TEST", runId: `test-${now}`, now, rejects: new Rejects(session, "test") };
    await landStatements(session, lake, METRICS, "staged", options);
  };
  await deliver("1::DOUBLE AS own_measure", T0);
  await deliver("2::DOUBLE AS own_measure, 3::DOUBLE AS another", T0 + 1000);
  const options = { runId: "restore", clock: clockAt(T0 + 2000) };
  expect(await restoreTable(lake, METRICS, version(0), options)).toMatchObject({ version: 2 });
  const rows = await queryLake(new Lake(lake.location), "SELECT own_measure, another FROM raw.metrics");
  expect(rows).toEqual([{ own_measure: 1, another: null }]);
});

test("a version whose files a vacuum has deleted is refused with what can be restored, and nothing changes", async () => {
  const [lake, session] = [await threeVersions(), await openSession()];
  for (const n of [3, 4])
    await land(session, lake, BARS_1D, [{ at: DAY_1, close: 10 + n }], { now: T0 + n * DAY_MS });
  // The file of version 2 was replaced by version 3, three days after T0.
  await vacuum(lake, BARS_1D, { now: T0 + 10 * DAY_MS, retentionMs: 6.5 * DAY_MS });
  await expect(restore(lake, version(1))).rejects.toMatchObject({
    message: expect.stringMatching(
      /^table bars_1d: version 1 cannot be restored: 1 of its 2 files is gone, such as region=CN\/.*; nothing was changed$/,
    ),
    hint: expect.stringMatching(/is 3: barlake restore bars_1d --version 3;/),
  });
  expect((await new Lake(lake.location).snapshot(BARS_1D)).version).toBe(4);
  await vacuum(lake, BARS_1D, { now: T0 + 10 * DAY_MS, retentionMs: 0 });
  await expect(restore(lake, version(3))).rejects.toMatchObject({
    hint: expect.stringContaining("no version between it and the newest one can be restored"),
  });
  await expect(restore(lake, version(5))).rejects.toThrow(VersionGone);
  expect(await restore(lake, EMPTY)).toMatchObject({ version: 5 });
});

test("a damaged file of the old version is refused, and nothing changes", async () => {
  const lake = await threeVersions();
  const old = await lake.snapshotAt(BARS_1D, { versions: new Map([["bars_1d", 0]]) });
  const path = join(lake.location, "bars_1d", [...old.files.keys()][0] ?? "");
  const bytes = readFileSync(path);
  bytes[40] = (bytes[40] ?? 0) ^ 1;
  writeFileSync(path, bytes);
  const error = await restore(lake, version(0)).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(LakeError);
  expect((error as LakeError).message).toMatch(
    /is not what was written.*; version 0 cannot be restored with it/,
  );
  expect((await new Lake(lake.location).snapshot(BARS_1D)).version).toBe(2);
});

test("what another writer commits after the plan is replaced as well, and is in the report", async () => {
  const [lake, session] = [await threeVersions(), await openSession()];
  const racing = new Lake(lake.location, { hasDatabase: false });
  const putIfAbsent = racing.storage.putIfAbsent.bind(racing.storage);
  let races = 0;
  Object.assign(racing.storage, {
    async putIfAbsent(...args: Parameters<typeof putIfAbsent>) {
      if (races++ === 0) await land(session, lake, BARS_1D, [{ at: DAY_2, close: 20 }], { now: T0 + 3000 });
      return putIfAbsent(...args);
    },
  });
  const report = await restore(racing, version(0));
  expect(report).toMatchObject({ from: 3, to: 0, version: 4, rowsRemoved: 2, rowsAdded: 1 });
  expect(report.undone.map((one) => one.version)).toEqual([3, 2, 1]);
  expect(await closes(new Lake(lake.location))).toEqual([10]);
});

test("a vacuum that deletes a file as it comes back is an error that says how to go back", async () => {
  const lake = await threeVersions();
  const racing = new Lake(lake.location, { hasDatabase: false });
  const putIfAbsent = racing.storage.putIfAbsent.bind(racing.storage);
  Object.assign(racing.storage, {
    async putIfAbsent(...args: Parameters<typeof putIfAbsent>) {
      for (const path of (await vacuum(lake, BARS_1D, { now: T0 + 9 * DAY_MS, retentionMs: 0 })).deleted)
        rmSync(join(lake.location, "bars_1d", path.path), { force: true });
      return putIfAbsent(...args);
    },
  });
  await expect(restore(racing, version(0))).rejects.toMatchObject({
    message: expect.stringContaining("were deleted at the same time"),
    hint: expect.stringContaining("barlake restore bars_1d --version 2"),
  });
  expect(await restore(new Lake(lake.location), version(2), T0 + 2 * DAY_MS)).toMatchObject({ version: 4 });
  expect(await closes(new Lake(lake.location))).toEqual([11, 12]);
});

test("segments and copies for SQL follow a restore", async () => {
  const lake = await threeVersions();
  const folder = temporaryFolder();
  const options = { hasDatabase: false, threads: 1 };
  await using plain = openLake(lake.location, { ...options, segments: false });
  await using copied = openLake(lake.location, { ...options, segments: { folder, copyFrom: 1 } });
  const read = async (connection: typeof plain): Promise<unknown[]> => {
    const filter = { symbols: ["600519.SH"], columns: ["symbol", "close"] };
    const bars = await connection.read("bars_1d", filter);
    const { rows } = { rows: (await connection.query("FROM bars_1d ORDER BY ALL")).rows() };
    return [bars.toString(), rows];
  };
  const seen: unknown[] = [];
  for (const target of [undefined, version(0), version(1), EMPTY, version(2)]) {
    if (target !== undefined) await restore(lake, target, T0 + DAY_MS + seen.length);
    await copied.buildSegments();
    const found = await read(plain);
    expect(await read(copied)).toEqual(found);
    seen.push(found);
  }
  expect(seen[0]).toEqual(seen[4]);
  expect(new Set(seen.map((one) => JSON.stringify(one))).size).toBe(4);
});

describe.skipIf(!HAS_STORE)("on a store", () => {
  const stores = storeLakes();

  test("a table is restored as in a folder", async () => {
    const store = stores.open(stores.newLocation());
    const lake = await threeVersions(store, await openSession(store.access));
    expect(await restore(lake, version(0))).toMatchObject({ from: 2, to: 0, version: 3 });
    expect(await closes(stores.open(lake.location))).toEqual([10]);
    expect(await closes(stores.open(lake.location), 2)).toEqual([11, 12]);
  });
});

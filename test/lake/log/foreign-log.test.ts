import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { LakeError } from "../../../src/core/errors.js";
import type { Session } from "../../../src/db/session/session.js";
import { Lake } from "../../../src/lake/lake.js";
import { writeCheckpoint } from "../../../src/lake/log/checkpoint.js";
import { commit } from "../../../src/lake/log/commit.js";
import type { Action } from "../../../src/lake/log/delta-actions.js";
import { readHistory } from "../../../src/lake/log/history.js";
import { readLog } from "../../../src/lake/log/read-log.js";
import { emptySnapshot } from "../../../src/lake/log/snapshot.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { land, openSession, T0, temporaryLake } from "../temporary-lake.js";

const day = (n: number): string => `2026-10-${String(n).padStart(2, "0")}T07:00:00Z`;
const entry = (version: number): string => `${String(version).padStart(20, "0")}.json`;
const logOf = (lake: Lake): string => join(lake.location, "bars_1d", "_delta_log");

/** Another engine's work: versions up to 13, one bar each, a checkpoint of the newest, and no older log entries. */
async function goFarAhead(session: Session, lake: Lake, { keep = 13 } = {}): Promise<void> {
  const other = new Lake(lake.location);
  const { version } = await other.snapshot(BARS_1D);
  for (let n = version + 1; n <= 13; n++) await land(session, other, BARS_1D, [{ at: day(n + 1) }]);
  await writeCheckpoint(other, await other.snapshot(BARS_1D), T0);
  clean(lake, keep);
}

/** Deletes a log's commits before a version. */
function clean(lake: Lake, before: number): void {
  for (const name of readdirSync(logOf(lake)))
    if (/^\d+\.json$/.test(name) && Number.parseInt(name) < before) rmSync(join(logOf(lake), name));
}

/** The content that a new process finds. */
async function found(lake: Lake): Promise<{ version: number; files: number }> {
  const { version, files } = await new Lake(lake.location).snapshot(BARS_1D);
  return { version, files: files.size };
}

describe("a lake that is open while another engine goes ahead and cleans the log", () => {
  test.each([
    ["with the checkpoint's own commit", 13, 0],
    ["without it", 14, 0],
    ["whose first version was not there yet", 13, -1],
  ])("reads the newest version and commits behind it: %s", async (_, keep, seen) => {
    const [lake, session] = [temporaryLake(), await openSession()];
    if (seen === 0) await land(session, lake, BARS_1D, [{ at: day(1) }]);
    expect((await lake.snapshot(BARS_1D)).version).toBe(seen);
    await goFarAhead(session, lake, { keep });
    expect((await lake.snapshot(BARS_1D)).version).toBe(13);
    const report = await land(session, lake, BARS_1D, [{ at: day(20) }]);
    expect(report).toMatchObject({ inserted: 1, version: 14 });
    expect(await found(lake)).toEqual({ version: 14, files: 15 });
  });

  test("commits nothing at a version that readers do not reach", async () => {
    const [lake, session] = [temporaryLake(), await openSession()];
    await land(session, lake, BARS_1D, [{ at: day(1) }]);
    const base = await lake.snapshot(BARS_1D);
    await goFarAhead(session, lake);
    const actions: Action[] = [{ commitInfo: { timestamp: T0 } }];
    expect(await commit(lake, base, actions, T0)).toBeUndefined();
    expect(await commit(lake, emptySnapshot(BARS_1D), actions, T0)).toBeUndefined();
    expect(readdirSync(logOf(lake))).not.toContain(entry(1));
    expect(readdirSync(logOf(lake))).not.toContain(entry(0));
  });

  test("takes a commit back that came too late, and lands again", async () => {
    const [lake, session] = [temporaryLake(), await openSession()];
    await land(session, lake, BARS_1D, [{ at: day(1) }]);
    // The other engine commits between this process's listing of the log and its commit.
    const putIfAbsent = lake.storage.putIfAbsent.bind(lake.storage);
    let isAhead = false;
    lake.storage.putIfAbsent = async (path, text) => {
      if (!isAhead && path.endsWith(entry(1))) {
        isAhead = true;
        await goFarAhead(session, lake);
      }
      return putIfAbsent(path, text);
    };
    const own = await openSession();
    const report = await land(own, lake, BARS_1D, [{ at: day(20) }]);
    expect(report).toMatchObject({ inserted: 1, version: 14 });
    expect(readdirSync(logOf(lake))).not.toContain(entry(1));
    expect(await found(lake)).toEqual({ version: 14, files: 15 });
  });

  test("reads on where the log was cleaned exactly up to what it knows", async () => {
    const [lake, session] = [temporaryLake(), await openSession()];
    const other = new Lake(lake.location);
    for (const n of [1, 2, 3]) await land(session, other, BARS_1D, [{ at: day(n) }]);
    expect((await lake.snapshot(BARS_1D)).version).toBe(2);
    await land(session, other, BARS_1D, [{ at: day(4) }]);
    await writeCheckpoint(other, await other.snapshot(BARS_1D), T0);
    clean(lake, 3);
    expect((await lake.snapshot(BARS_1D)).version).toBe(3);
    expect((await land(session, lake, BARS_1D, [{ at: day(5) }])).version).toBe(4);
  });

  test("reads again where the log is cleaned while it is read", async () => {
    const [lake, session] = [temporaryLake(), await openSession()];
    for (const n of [1, 2, 3]) await land(session, lake, BARS_1D, [{ at: day(n) }]);
    const reader = new Lake(lake.location);
    const readText = reader.storage.readText.bind(reader.storage);
    reader.storage.readText = async (path) => {
      if (path.endsWith(entry(1))) await goFarAhead(session, lake);
      return readText(path);
    };
    const { version, files } = await reader.snapshot(BARS_1D);
    expect([version, files.size]).toEqual([13, 14]);
  });
});

describe("a log whose end is lost is refused, and not read as an older state", () => {
  test("where a checkpoint that is not readable is newer than the commits", async () => {
    const [lake, session] = [temporaryLake(), await openSession()];
    for (const n of [1, 2, 3]) await land(session, lake, BARS_1D, [{ at: day(n) }]);
    rmSync(join(logOf(lake), entry(2)));
    writeFileSync(join(logOf(lake), entry(9).replace("json", "checkpoint.parquet")), "torn");
    await expect(new Lake(lake.location).snapshot(BARS_1D)).rejects.toThrow(/0002\.json is missing$/);
    // Older versions can still be read.
    expect((await readLog(lake.storage, emptySnapshot(BARS_1D), { version: 1 })).version).toBe(1);
  });

  test("where a part of a newer checkpoint is missing", async () => {
    const [lake, session] = [temporaryLake(), await openSession()];
    await land(session, lake, BARS_1D, [{ at: day(1) }]);
    const part = entry(5).replace("json", "checkpoint.0000000001.0000000002.parquet");
    writeFileSync(join(logOf(lake), part), "half");
    await expect(new Lake(lake.location).snapshot(BARS_1D)).rejects.toThrow(/0001\.json is missing$/);
  });

  test("where _last_checkpoint names a version behind the end", async () => {
    const [lake, session] = [temporaryLake(), await openSession()];
    await land(session, lake, BARS_1D, [{ at: day(1) }]);
    writeFileSync(join(logOf(lake), "_last_checkpoint"), JSON.stringify({ version: 7, size: 3 }));
    await expect(new Lake(lake.location).snapshot(BARS_1D)).rejects.toThrow(
      "table bars_1d: its log ends with version 0, and had version 7",
    );
    // A `_last_checkpoint` that is older than the newest checkpoint, or unreadable, is only a hint.
    for (const text of [JSON.stringify({ version: 0 }), "torn"]) {
      writeFileSync(join(logOf(lake), "_last_checkpoint"), text);
      expect(await found(lake)).toEqual({ version: 0, files: 1 });
    }
  });

  test("where the whole log is gone under an open lake", async () => {
    const [lake, session] = [temporaryLake(), await openSession()];
    await land(session, lake, BARS_1D, [{ at: day(1) }]);
    rmSync(logOf(lake), { recursive: true });
    await expect(lake.snapshot(BARS_1D)).rejects.toThrow(LakeError);
    await expect(land(session, lake, BARS_1D, [{ at: day(2) }])).rejects.toThrow(
      /is gone, which had version 0$/,
    );
  });
});

test("a log that was empty is listed, and nothing else is read until it has a file", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  const calls: string[] = [];
  const stored = { ...lake.storage };
  Object.assign(lake.storage, {
    list: (path: string, after?: string) => {
      calls.push("list");
      return stored.list(path, after);
    },
    readText: (path: string) => {
      calls.push("read");
      return stored.readText(path);
    },
  });
  const callsOf = async (): Promise<string[]> => {
    calls.length = 0;
    await lake.snapshot(BARS_1D);
    return [...calls];
  };
  expect(await callsOf()).toEqual(["read", "list"]);
  expect(await callsOf()).toEqual(["list"]);
  mkdirSync(logOf(lake), { recursive: true });
  writeFileSync(join(logOf(lake), "_last_checkpoint"), JSON.stringify({ version: 7, size: 3 }));
  await expect(lake.snapshot(BARS_1D)).rejects.toThrow("its log ends with version -1, and had version 7");
  rmSync(logOf(lake), { recursive: true });
  expect(await callsOf()).toEqual(["list"]);
  await land(session, new Lake(lake.location), BARS_1D, [{ at: day(1) }]);
  expect((await lake.snapshot(BARS_1D)).version).toBe(0);
});

test("a log that was put back to an older state is read as it is now", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  for (const n of [1, 2, 3]) await land(session, lake, BARS_1D, [{ at: day(n) }]);
  for (const n of [1, 2]) rmSync(join(logOf(lake), entry(n)));
  expect((await lake.snapshot(BARS_1D)).version).toBe(0);
  expect((await land(session, lake, BARS_1D, [{ at: day(9) }])).version).toBe(1);
  expect((await readHistory(lake.storage, BARS_1D)).map(({ version }) => version)).toEqual([0, 1]);
});

import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Lake } from "../../../src/lake/lake.js";
import { commit } from "../../../src/lake/log/commit.js";
import type { Action } from "../../../src/lake/log/delta-actions.js";
import { readHistory } from "../../../src/lake/log/history.js";
import { readLog } from "../../../src/lake/log/read-log.js";
import { emptySnapshot } from "../../../src/lake/log/snapshot.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { land, openSession, T0, temporaryLake } from "../temporary-lake.js";
import { contentOf, longLog, writeFilesOf } from "./long-log.js";

const DAY = 86_400_000;

const logPath = (lake: Lake, name: string): string => join(lake.location, "bars_1d", "_delta_log", name);
const entry = (version: number, suffix = "json"): string => `${String(version).padStart(20, "0")}.${suffix}`;

test("every 50 commits there is a checkpoint; what is read from it is what the commits come to", async () => {
  const lake = temporaryLake();
  const written = await longLog(lake, 130);
  const hint = JSON.parse(readFileSync(logPath(lake, "_last_checkpoint"), "utf8")) as object;
  expect(hint).toEqual({ version: 100, size: 2 + 101 + 94 + 7 });
  expect([50, 100].map((n) => existsSync(logPath(lake, entry(n, "checkpoint.parquet"))))).toEqual([
    true,
    true,
  ]);
  const fromCheckpoint = await readLog(lake.storage, emptySnapshot(BARS_1D));
  const fromStart = await readLog(lake.storage, emptySnapshot(BARS_1D), { whole: true });
  expect(contentOf(fromCheckpoint)).toEqual(contentOf(fromStart));
  expect(contentOf(fromCheckpoint)).toEqual(contentOf(written));
  expect([...fromCheckpoint.removed.keys()].sort()).toEqual([...fromStart.removed.keys()].sort());
});

test("any version and any time is read alike, with checkpoints and without", async () => {
  const lake = temporaryLake();
  await longLog(lake, 105);
  const read = async (): Promise<object[]> => {
    const found: object[] = [];
    for (const version of [0, 1, 49, 50, 51, 99, 100, 101, 104]) {
      found.push(contentOf(await lake.snapshotAt(BARS_1D, { versions: new Map([["bars_1d", version]]) })));
      found.push(
        contentOf(await readLog(lake.storage, emptySnapshot(BARS_1D), { asOf: T0 + version * 60_000 + 59 })),
      );
    }
    return found;
  };
  writeFilesOf(lake, await readLog(lake.storage, emptySnapshot(BARS_1D), { whole: true }));
  const withCheckpoints = await read();
  for (const n of [50, 100]) rmSync(logPath(lake, entry(n, "checkpoint.parquet")));
  rmSync(logPath(lake, "_last_checkpoint"));
  expect(await read()).toEqual(withCheckpoints);
  expect(withCheckpoints).toHaveLength(18);
});

test("a time is read alike, with checkpoints and without, where the clocks of two writers are an hour apart", async () => {
  const lake = temporaryLake();
  await longLog(lake, 52, (n) => T0 + n * 60_000 + (n % 2 === 0 ? 0 : 3_600_000));
  const versionAt = async (asOf: number): Promise<number> =>
    (await readLog(lake.storage, emptySnapshot(BARS_1D), { asOf })).version;
  const times = [0, 1, 30, 60, 61, 75, 111].map((n) => T0 + n * 60_000);
  const withCheckpoint = await Promise.all(times.map(versionAt));
  rmSync(logPath(lake, entry(50, "checkpoint.parquet")));
  rmSync(logPath(lake, "_last_checkpoint"));
  expect(await Promise.all(times.map(versionAt))).toEqual(withCheckpoint);
  expect(withCheckpoint).toEqual([0, 0, 0, 0, 2, 16, 51]);
});

test("a log whose oldest entries are gone is read from its checkpoint, and a version before it is reported as gone", async () => {
  const lake = temporaryLake();
  const written = await longLog(lake, 60);
  for (let n = 0; n < 50; n++) rmSync(logPath(lake, entry(n)));
  expect(contentOf(await new Lake(lake.location).snapshot(BARS_1D))).toEqual(contentOf(written));
  expect((await readHistory(lake.storage, BARS_1D)).map(({ version }) => version)).toEqual([
    50, 51, 52, 53, 54, 55, 56, 57, 58, 59,
  ]);
  const early = lake.snapshotAt(BARS_1D, { versions: new Map([["bars_1d", 49]]) });
  await expect(early).rejects.toThrow(
    /table bars_1d: its log begins neither at version 0 nor with a checkpoint/,
  );
});

test("a damaged checkpoint is passed over as long as the log is whole, and is named where it is not", async () => {
  const lake = temporaryLake();
  const written = await longLog(lake, 105);
  truncateSync(logPath(lake, entry(100, "checkpoint.parquet")), 700);
  expect(contentOf(await new Lake(lake.location).snapshot(BARS_1D))).toEqual(contentOf(written));
  writeFileSync(logPath(lake, entry(50, "checkpoint.parquet")), "");
  expect(contentOf(await new Lake(lake.location).snapshot(BARS_1D))).toEqual(contentOf(written));
  for (let n = 0; n < 101; n++) rmSync(logPath(lake, entry(n)));
  await expect(new Lake(lake.location).snapshot(BARS_1D)).rejects.toThrow(
    /table bars_1d: bars_1d\/_delta_log\/00000000000000000100\.checkpoint\.parquet is not readable/,
  );
});

test("what was removed or landed over a week ago is in the commits alone", async () => {
  const lake = temporaryLake();
  const newest = await longLog(lake, 50);
  // A record without a time of its last change is for ever.
  const record: Action = { txn: { appId: "job", version: T0 } };
  await commit(lake, newest, [{ commitInfo: { timestamp: T0 + 8 * DAY } }, record], T0 + 8 * DAY);
  const fresh = await readLog(lake.storage, emptySnapshot(BARS_1D));
  expect([fresh.version, fresh.files.size, fresh.removed.size]).toEqual([50, 7, 0]);
  expect([...fresh.txns.values()]).toMatchObject([record.txn]);
  const whole = await lake.wholeSnapshot(BARS_1D);
  expect([whole.files.size, whole.removed.size, whole.txns.size]).toEqual([7, 43, 51]);
});

test("a checkpoint that cannot be written does not hurt the commit", async () => {
  const lake = temporaryLake();
  const newest = await longLog(lake, 50);
  const storage = {
    ...lake.storage,
    putFileIfAbsent: () => Promise.reject(new Error("no space left on device")),
  };
  const after = await commit({ storage, work: lake.work }, newest, [{ commitInfo: { timestamp: T0 } }], T0);
  expect(after?.version).toBe(50);
  expect((await new Lake(lake.location).snapshot(BARS_1D)).version).toBe(50);
});

test("a response that has landed lands no second time, though newer rows have come since", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  const bar = (close: number) => [{ at: "2026-11-02T16:00:00Z", close }];
  const first = await land(session, lake, BARS_1D, bar(10), { responses: ["run/1", "run/2"] });
  expect(first.inserted).toBe(1);
  await land(session, lake, BARS_1D, bar(10.5), { responses: ["run/3"] });
  const again = await land(session, new Lake(lake.location), BARS_1D, bar(10), {
    responses: ["run/1", "run/2"],
  });
  expect(again).toMatchObject({ inserted: 0, updated: 0, unchanged: 1, version: 1 });
  const mixed = land(session, lake, BARS_1D, bar(10), { responses: ["run/2", "run/4"] });
  await expect(mixed).rejects.toThrow(/1 of the responses were landed by another run at the same time/);
});

import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LakeError } from "../../../src/core/errors.js";
import { Lake, type PointInTime } from "../../../src/lake/lake.js";
import { commit } from "../../../src/lake/log/commit.js";
import { readHistory } from "../../../src/lake/log/history.js";
import { commitsUpTo, readLog } from "../../../src/lake/log/read-log.js";
import { type Commit, commitTime, emptySnapshot } from "../../../src/lake/log/snapshot.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { land, openSession, queryLake, T0, temporaryLake } from "../temporary-lake.js";

const logPath = (lake: Lake, version: number): string =>
  join(lake.location, "bars_1d", "_delta_log", `${String(version).padStart(20, "0")}.json`);

const day = (n: number): string => `2026-11-${String(n).padStart(2, "0")}T07:00:00Z`;

/** A lake with three versions of daily bars: one bar, then two, then the first one with another close. */
async function threeVersions(): Promise<Lake> {
  const [lake, session] = [temporaryLake(), await openSession()];
  await land(session, lake, BARS_1D, [{ at: day(2), close: 10 }], { now: T0 });
  await land(session, lake, BARS_1D, [{ at: day(3), close: 10.25 }], { now: T0 + 1000 });
  await land(session, lake, BARS_1D, [{ at: day(2), close: 9.5 }], { now: T0 + 2000 });
  return lake;
}

async function closes(lake: Lake, pointInTime: PointInTime): Promise<number[]> {
  const sql = "SELECT close FROM bars_1d ORDER BY timestamp";
  const rows = await queryLake<{ close: number }>(lake, sql, pointInTime);
  return rows.map(({ close }) => close);
}

test("a version that does not exist is an error that names the newest one", async () => {
  const lake = await threeVersions();
  const asked = lake.snapshotAt(BARS_1D, { versions: new Map([["bars_1d", 3]]) });
  await expect(asked).rejects.toMatchObject({
    message: "table bars_1d: version 3 does not exist",
    hint: "its newest is 2",
  });
  const empty = temporaryLake().snapshotAt(BARS_1D, { versions: new Map([["bars_1d", 0]]) });
  await expect(empty).rejects.toThrow(LakeError);
});

test("a snapshot knows what was removed and when, and one that was read does not change", async () => {
  const lake = await threeVersions();
  const all: Commit[] = [];
  for await (const one of commitsUpTo(lake.storage, "bars_1d", 0, 2)) all.push(one);
  expect(all.map(commitTime)).toEqual([T0, T0 + 1000, T0 + 2000]);
  const first = await readLog(lake.storage, emptySnapshot(BARS_1D), { version: 0 });
  const kept = [...first.files.keys()];
  const newest = await readLog(lake.storage, first);
  expect([...first.files.keys()]).toEqual(kept);
  expect(first.removed.size).toBe(0);
  expect(newest.version).toBe(2);
  expect([...newest.removed].map(([path, { deletionTimestamp }]) => [path, deletionTimestamp])).toEqual([
    [kept[0], T0 + 2000],
  ]);
  expect(newest.files.has(kept[0] as string)).toBe(false);
  expect(await readLog(lake.storage, newest)).toBe(newest);
});

test("history lists each version, what it did and by which run", async () => {
  const lake = await threeVersions();
  expect(await readHistory(lake.storage, BARS_1D)).toMatchObject([
    { version: 0, committedAt: T0, operation: "TEST", runId: "test", inserted: 1, updated: 0, filesAdded: 1 },
    { version: 1, inserted: 1, updated: 0, filesAdded: 1, filesRemoved: 0 },
    { version: 2, committedAt: T0 + 2000, inserted: 0, updated: 1, filesAdded: 1, filesRemoved: 1 },
  ]);
  const [first] = await readHistory(lake.storage, BARS_1D);
  const size = [...(await lake.snapshotAt(BARS_1D, { asOf: T0 })).files.values()][0]?.size;
  expect(first?.bytesAdded).toBe(size);
  expect(await readHistory(temporaryLake().storage, BARS_1D)).toEqual([]);
});

test.each<[string, object, RegExp]>([
  [
    "a newer reader",
    { protocol: { minReaderVersion: 2, minWriterVersion: 2 } },
    /reader version 2 and writer version 2/,
  ],
  ["a newer writer", { protocol: { minReaderVersion: 1, minWriterVersion: 4 } }, /writer version 4/],
  [
    "features",
    {
      protocol: {
        minReaderVersion: 3,
        minWriterVersion: 7,
        readerFeatures: ["deletionVectors"],
        writerFeatures: ["deletionVectors", "rowTracking"],
      },
    },
    /with the features deletionVectors, rowTracking/,
  ],
  [
    "a deletion vector",
    { add: { path: "x.parquet", partitionValues: {}, size: 1, deletionVector: {} } },
    /deletion vector/,
  ],
  [
    "files of another format",
    { metaData: { format: { provider: "orc" }, schemaString: "{}" } },
    /files are "orc"/,
  ],
])("a table with %s is refused, and the earlier versions are still there", async (_, action, message) => {
  const lake = await threeVersions();
  writeFileSync(logPath(lake, 3), `${JSON.stringify(action)}\n`);
  await expect(new Lake(lake.location).snapshot(BARS_1D)).rejects.toThrow(message);
  await expect(new Lake(lake.location).snapshot(BARS_1D)).rejects.toThrow(/^table bars_1d: /);
  const session = await openSession();
  await expect(land(session, lake, BARS_1D, [{ at: day(4) }])).rejects.toThrow(LakeError);
  expect(await closes(lake, { versions: new Map([["bars_1d", 1]]) })).toEqual([10, 10.25]);
});

/** Changes the table's metadata, as another program would. */
function alter(
  lake: Lake,
  change: (metaData: { configuration: object; schemaString: string }) => object,
): void {
  const [, , metaLine = ""] = readFileSync(logPath(lake, 0), "utf8").split("\n");
  const { metaData } = JSON.parse(metaLine) as { metaData: { configuration: object; schemaString: string } };
  writeFileSync(logPath(lake, 3), `${JSON.stringify({ metaData: change(metaData) })}\n`);
}

test("an append-only table takes new bars and refuses to change old ones", async () => {
  const lake = await threeVersions();
  alter(lake, (metaData) => ({ ...metaData, configuration: { "delta.appendOnly": "true" } }));
  const session = await openSession();
  expect(await land(session, lake, BARS_1D, [{ at: day(4) }])).toMatchObject({ inserted: 1, version: 4 });
  await expect(land(session, lake, BARS_1D, [{ at: day(4), close: 9.25 }])).rejects.toThrow(/append-only/);
  expect((await lake.snapshot(BARS_1D)).version).toBe(4);
});

test("a table with an invariant is read, and not written", async () => {
  const lake = await threeVersions();
  alter(lake, (metaData) => ({
    ...metaData,
    schemaString: metaData.schemaString.replace('"metadata":{', '"metadata":{"delta.invariants":"x > 0",'),
  }));
  const session = await openSession();
  expect(await closes(lake, {})).toEqual([9.5, 10.25]);
  await expect(land(session, lake, BARS_1D, [{ at: day(4) }])).rejects.toThrow(
    /column symbol: has an invariant/,
  );
});

test("a log entry that is cut is named, and nothing is committed over it", async () => {
  const lake = await threeVersions();
  mkdirSync(join(lake.location, "bars_1d", "_delta_log"), { recursive: true });
  writeFileSync(logPath(lake, 3), '{"commitInfo":{"timest');
  const fresh = new Lake(lake.location);
  await expect(fresh.snapshot(BARS_1D)).rejects.toThrow(/00000000000000000003\.json is not readable/);
  appendFileSync(logPath(lake, 3), 'amp":1}}\n');
  const after = await fresh.snapshot(BARS_1D);
  expect(after.version).toBe(3);
  expect(await commit(lake, { ...after, version: 2 }, [], T0)).toBeUndefined();
});

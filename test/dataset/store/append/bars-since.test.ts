import { rmSync } from "node:fs";
import { expect, test } from "vitest";
import { barsSince } from "../../../../src/dataset/store/lake-changes.js";
import type { Manifest } from "../../../../src/dataset/store/manifest.js";
import { Lake } from "../../../../src/lake/lake.js";
import type { DataFile } from "../../../../src/lake/log/snapshot.js";
import { vacuum } from "../../../../src/lake/maintenance/vacuum.js";
import { folderStorage } from "../../../../src/lake/storage/folder-storage.js";
import type { Storage } from "../../../../src/lake/storage/storage.js";
import { BARS_1D } from "../../../../src/schema/bars.js";
import { land, openSession, T0, temporaryLake } from "../../../lake/temporary-lake.js";

const FIRST_COMMIT = "bars_1d/_delta_log/00000000000000000000.json";

/** A lake of three versions: a bar, the same bar with another price, and one more. */
async function changedLake() {
  const [{ location }, session] = [temporaryLake(), await openSession()];
  const own = folderStorage(location);
  const lake = new Lake(location, { hasDatabase: false });
  await land(session, lake, BARS_1D, [{ at: "2026-11-02T16:00:00Z" }]);
  await land(session, lake, BARS_1D, [{ at: "2026-11-02T16:00:00Z", close: 11 }]);
  await land(session, lake, BARS_1D, [{ at: "2025-11-03T16:00:00Z" }]);
  const since = async (version: number, faults: Partial<Storage> = {}): Promise<boolean[]> => {
    const faulty = new Lake(location, { storage: { ...own, ...faults }, hasDatabase: false });
    const tables = { tables: { bars_1d: version } } as unknown as Manifest;
    const isNew = await barsSince(faulty, tables, [await lake.snapshot(BARS_1D)]);
    return ["2025", "2026"].map((year) =>
      isNew(files.find(({ path }) => path.includes(`year=${year}`)) as DataFile),
    );
  };
  const files = [...(await lake.snapshot(BARS_1D)).files.values()];
  return { lake, own, since };
}

test("files are new that the earlier version lacks, and all where there is no such version", async () => {
  const { lake, own, since } = await changedLake();
  expect(await since(2)).toEqual([false, false]);
  expect(await since(1)).toEqual([true, false]);
  expect(await since(0)).toEqual([true, true]);
  expect(await since(-1)).toEqual([true, true]);
  expect(await since(7)).toEqual([true, true]);
  await vacuum(lake, BARS_1D, { now: T0 + 1e12, retentionMs: 0 });
  expect(await since(0)).toEqual([true, true]);
  expect(await since(1)).toEqual([true, false]);
  rmSync(own.urlOf(FIRST_COMMIT));
  expect(await since(1)).toEqual([true, true]);
});

test("an earlier version that is not readable is an error", async () => {
  const { own, since } = await changedLake();
  const broken = (): Promise<never> => Promise.reject(new Error("the storage is broken"));
  await expect(since(1, { walk: broken })).rejects.toThrow("the storage is broken");
  await expect(since(1, { list: broken })).rejects.toThrow("the storage is broken");
  const readText = async (path: string): Promise<string | undefined> =>
    path === FIRST_COMMIT ? "{" : own.readText(path);
  await expect(since(1, { readText })).rejects.toThrow(`table bars_1d: ${FIRST_COMMIT} is not readable`);
});

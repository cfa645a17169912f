import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Lake } from "../../../src/lake/lake.js";
import { writeCheckpoint } from "../../../src/lake/log/checkpoint.js";
import { copyLake } from "../../../src/lake/maintenance/copy-lake.js";
import { folderStorage } from "../../../src/lake/storage/folder-storage.js";
import type { Storage } from "../../../src/lake/storage/storage.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { land, openSession, T0, temporaryFolder, temporaryLake } from "../temporary-lake.js";

test("a lake whose log was shortened is copied with what is left, and the copy is whole at each step", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  for (let n = 0; n < 6; n++) {
    await land(session, lake, BARS_1D, [{ at: T0 - n * 86_400_000 }]);
    if (n === 3) await writeCheckpoint(lake, await lake.snapshot(BARS_1D), T0);
  }
  // Version 2 is left of a cleanup that was ended.
  for (const version of [0, 1])
    rmSync(join(lake.location, "bars_1d", "_delta_log", `${String(version).padStart(20, "0")}.json`));
  const folder = join(temporaryFolder(), "copy");
  const inner = folderStorage(folder);
  const versions: number[] = [];
  const seen = async (): Promise<void> => {
    versions.push((await new Lake(folder).snapshot(BARS_1D)).version);
  };
  const storage: Storage = {
    ...inner,
    async putIfAbsent(path, text) {
      const isDone = await inner.putIfAbsent(path, text);
      await seen();
      return isDone;
    },
    async putFileIfAbsent(...parameters) {
      const isDone = await inner.putFileIfAbsent(...parameters);
      await seen();
      return isDone;
    },
  };
  await copyLake(new Lake(lake.location), new Lake(folder, { hasDatabase: false, storage }));
  expect([...new Set(versions)]).toEqual([-1, 3, 4, 5]);
  const copy = new Lake(folder);
  const [own, copied] = [await lake.wholeSnapshot(BARS_1D), await copy.wholeSnapshot(BARS_1D)];
  expect([...copied.files.keys()]).toEqual([...own.files.keys()]);
  // Later copies go on.
  await land(session, lake, BARS_1D, [{ at: T0 - 6 * 86_400_000 }]);
  expect(await copyLake(new Lake(lake.location), new Lake(folder))).toMatchObject([
    { table: "bars_1d", version: 6, files: 1, commits: 1 },
  ]);
});

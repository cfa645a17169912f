import fs, { existsSync, renameSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { lakePlace } from "../../../src/cli/shell/sql-place.js";
import { LakeError } from "../../../src/core/errors.js";
import { Lake } from "../../../src/lake/lake.js";
import { openReader } from "../../../src/lake/open-reader.js";
import { publish, publishIfMoved } from "../../../src/lake/publish.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { land, openSession, temporaryFolder } from "../temporary-lake.js";

/**
 * A lake that is moved away by another process when this one has just looked at its folder, or is about to make one.
 *
 * @param isAfterMaking whether it is also moved away just after the folder of unfinished files was made.
 */
async function lakeThatIsMoved(
  isAfterMaking = true,
): Promise<{ lake: Lake; move: () => void; isMoved: () => boolean }> {
  const folder = temporaryFolder();
  const [location, other] = [join(folder, "lake"), join(folder, "moved")];
  // Its lake.duckdb was made for another folder.
  const made = new Lake(join(folder, "made"));
  await land(await openSession(), made, BARS_1D, [{ at: "2024-03-06T16:00:00Z" }]);
  await publish(made);
  renameSync(made.location, location);
  const isMoved = (): boolean => existsSync(other);
  let isArmed = false;
  const moveAway = (): void => {
    if (isArmed && !isMoved()) renameSync(location, other);
  };
  const { accessSync, mkdirSync } = fs;
  const { mkdir } = fs.promises;
  const replace = (own: typeof fs, promised: typeof mkdir): void => {
    Object.assign(fs, { accessSync: own.accessSync, mkdirSync: own.mkdirSync });
    fs.promises.mkdir = promised;
    syncBuiltinESMExports();
  };
  onTestFinished(() => replace({ ...fs, accessSync, mkdirSync }, mkdir));
  const looked = ((...given: Parameters<typeof accessSync>) => {
    accessSync(...given);
    moveAway();
  }) as typeof accessSync;
  const making = ((...given: Parameters<typeof mkdirSync>) => {
    try {
      return mkdirSync(...given);
    } finally {
      if (isAfterMaking) moveAway();
    }
  }) as typeof mkdirSync;
  const makingLater = ((...given: Parameters<typeof mkdir>) => {
    moveAway();
    return mkdir(...given);
  }) as typeof mkdir;
  replace({ ...fs, accessSync: looked, mkdirSync: making }, makingLater);
  return { lake: new Lake(location), move: () => (isArmed = true), isMoved };
}

test.each(["work", "storage"] as const)(
  "the time by the folder of a lake that is moved away does not make it again: %s",
  async (by) => {
    const { lake, move, isMoved } = await lakeThatIsMoved();
    expect(await lake[by].time()).toBeGreaterThan(0);
    move();
    expect(await lake[by].time()).toBeUndefined();
    expect([isMoved(), existsSync(lake.location)]).toEqual([true, false]);
    expect(await lake[by].time()).toBeUndefined();
    expect(existsSync(lake.location)).toBe(false);
  },
);

test("a shell's file of results does not make the folder of a lake that is moved away", async () => {
  const { lake, move, isMoved } = await lakeThatIsMoved(false);
  using reader = await openReader(lake, { threads: 1 });
  move();
  const { work } = lakePlace(reader.session, lake);
  await work.newFile("csv");
  expect([isMoved(), existsSync(lake.location)]).toEqual([true, false]);
  // Further ones are written elsewhere.
  expect(await work.newFile("csv")).not.toContain(lake.location);
});

test("lake.duckdb of a lake that is moved away is not made again, and neither is its folder", async () => {
  const { lake, move, isMoved } = await lakeThatIsMoved(false);
  move();
  expect(await publishIfMoved(lake)).toMatchObject({ error: expect.any(LakeError) as LakeError });
  expect([isMoved(), existsSync(lake.location)]).toEqual([true, false]);
});

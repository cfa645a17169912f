import { cpSync, renameSync } from "node:fs";
import { expect, test } from "vitest";
import { openLake } from "../../../src/api/lake/open-lake.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { land, openSession, temporaryFolder, temporaryLake } from "../../lake/temporary-lake.js";

test("an open lake goes on with the history that replaces it, with its warm sessions and its segments", async () => {
  const session = await openSession();
  const [former, backup] = [temporaryLake(), temporaryLake()];
  for (const [one, close] of [
    [former, 10],
    [backup, 9.5],
  ] as const)
    await land(session, one, BARS_1D, [{ at: "2026-01-04T16:00:00Z", close }]);
  const segments = { folder: temporaryFolder() };
  await using lake = openLake(former.location, { hasDatabase: false, threads: 1, segments });
  await lake.buildSegments();
  const closes = async (): Promise<unknown[]> => {
    const read = await lake.read("bars_1d", { symbols: ["600519.SH"], columns: ["close"] });
    const queried = await lake.query("SELECT close FROM bars_1d");
    return [...read.rows(), ...queried.rows()];
  };
  expect(await closes()).toEqual([{ close: 10 }, { close: 10 }]);
  renameSync(former.location, `${former.location}.old`);
  cpSync(backup.location, former.location, { recursive: true });
  expect(await closes()).toEqual([{ close: 9.5 }, { close: 9.5 }]);
});

import { cpSync, renameSync } from "node:fs";
import { expect, test } from "vitest";
import { Lake } from "../../../src/lake/lake.js";
import { openReader } from "../../../src/lake/open-reader.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { LakeStates } from "../../../src/ui/session/lake-states.js";
import { land, openSession, temporaryLake } from "../../lake/temporary-lake.js";

test("a page of a history that was replaced gets no rows of the one with the same version numbers", async () => {
  const session = await openSession();
  const [lake, backup] = [temporaryLake(), temporaryLake()];
  for (const [one, close] of [
    [lake, 10],
    [backup, 9.5],
  ] as const)
    await land(session, one, BARS_1D, [{ at: "2026-01-05", close }]);
  const states = new LakeStates(lake);
  const before = await states.newest();
  renameSync(lake.location, `${lake.location}.old`);
  cpSync(backup.location, lake.location, { recursive: true });
  const after = await states.newest();
  expect(after.id).not.toBe(before.id);
  // Another process of the workspace opens the lake by itself.
  const open = ({ pointInTime }: typeof before) =>
    openReader(new Lake(lake.location), { threads: 1, statement: "FROM bars_1d" }, pointInTime);
  await expect(open(before)).rejects.toThrow("table bars_1d: version 0 is gone: the lake was replaced");
  using reader = await open(after);
  expect(await reader.session.json("SELECT close FROM bars_1d")).toEqual([{ close: 9.5 }]);
});

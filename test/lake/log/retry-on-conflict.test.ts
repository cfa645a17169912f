import { expect, test } from "vitest";
import { BarlakeError } from "../../../src/core/errors.js";
import { Lake } from "../../../src/lake/lake.js";
import { retryOnConflict } from "../../../src/lake/log/commit.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { virtualClock } from "../../faults/clock/virtual-clock.js";
import { land, openSession, T0, temporaryLake } from "../temporary-lake.js";

test("each attempt is made on the newest version, after a wait", async () => {
  const [{ location }, session] = [temporaryLake(), await openSession()];
  const clock = virtualClock(T0);
  const bases: number[] = [];
  const result = await retryOnConflict(new Lake(location, { clock }), BARS_1D, async ({ version }) => {
    bases.push(version);
    if (bases.length === 3) return 0;
    await land(session, new Lake(location), BARS_1D, [{ at: "2026-11-02T07:00:00Z", close: bases.length }]);
    return undefined;
  });
  expect([result, bases, clock.slept.length]).toEqual([0, [-1, 0, 1], 2]);
  expect(clock.slept.every((ms) => ms >= 1 && ms <= 250)).toBe(true);
});

test("after 40 attempts it gives up", async () => {
  const clock = virtualClock(T0);
  const lake = new Lake(temporaryLake().location, { clock });
  let attempts = 0;
  const error = await retryOnConflict(lake, BARS_1D, async () => {
    attempts++;
    return undefined;
  }).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(BarlakeError);
  expect(error).toMatchObject({ message: "table bars_1d: another writer committed first, 40 times" });
  expect([attempts, clock.slept.length]).toEqual([40, 39]);
});

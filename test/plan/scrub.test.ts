import fc from "fast-check";
import { expect, test } from "vitest";
import { DAY_MS } from "../../src/core/time.js";
import { filesToScrub } from "../../src/plan/scrub.js";

const T0 = Date.parse("2026-11-22T00:00:00Z");

/** Verifies a part of the files each of so many nights. @returns the age of the oldest verification after each. */
function nightly(files: { bytes: number; verifiedAt: number }[], nights: readonly number[]): number[] {
  let last: number | undefined;
  return nights.map((night) => {
    const now = T0 + night * DAY_MS;
    for (const file of filesToScrub(files, now, last)) file.verifiedAt = now;
    last = now;
    return Math.max(...files.map(({ verifiedAt }) => now - verifiedAt)) / DAY_MS;
  });
}

const files = fc.array(
  fc.record({
    bytes: fc.integer({ min: 1, max: 1e9 }),
    verifiedAt: fc.integer({ min: T0 - 400 * DAY_MS, max: T0 }),
  }),
  { minLength: 1, maxLength: 60 },
);

test("every file is read within four weeks, however old the lake is when the nights begin", () => {
  const nights = Array.from({ length: 70 }, (_, night) => night);
  fc.assert(
    fc.property(files, (lake) => {
      const ages = nightly(structuredClone(lake), nights);
      expect(Math.max(...ages.slice(28))).toBeLessThanOrEqual(28);
    }),
  );
});

test("a night that was missed is made up for, and what was read last week is left alone", () => {
  const age = (days: number) => ({ bytes: 10, verifiedAt: T0 - days * DAY_MS });
  const lake = Array.from({ length: 21 }, (_, n) => age(8 + n));
  const chosen = (lastDays: number | undefined) =>
    filesToScrub(lake, T0, lastDays === undefined ? undefined : T0 - lastDays * DAY_MS).length;
  expect([chosen(undefined), chosen(1), chosen(3), chosen(500)]).toEqual([1, 1, 3, 21]);
  expect(filesToScrub(lake, T0, T0 - DAY_MS)).toEqual([age(28)]);
  expect(filesToScrub([age(6.9)], T0, undefined)).toEqual([]);
  expect(filesToScrub([], T0, undefined)).toEqual([]);
});

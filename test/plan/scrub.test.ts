import fc from "fast-check";
import { expect, test } from "vitest";
import { DAY_MS } from "../../src/core/time.js";
import { planScrub, type ScrubbableFile } from "../../src/jobs/maintenance/scrub-lake.js";

const T0 = Date.parse("2026-11-22T00:00:00Z");

/** The files that a plan's night reads, where those of `damaged` are not intact. */
function filesRead<File extends ScrubbableFile>(
  files: readonly File[],
  now: number,
  last: number | undefined,
  damaged: ReadonlySet<unknown> = new Set(),
): File[] {
  const plan = planScrub(files, now, last);
  const read: File[] = [];
  let intact = 0;
  for (const file of plan.files) {
    if (intact >= plan.bytes) break;
    read.push(file);
    if (!damaged.has(file)) intact += file.bytes;
  }
  return read;
}

/** Verifies a part of the files each of so many nights. @returns the age of the oldest verification after each. */
function nightly(
  files: { bytes: number; verifiedAt: number }[],
  nights: readonly number[],
  damaged: ReadonlySet<unknown> = new Set(),
): number[] {
  const intact = files.filter((file) => !damaged.has(file));
  let last: number | undefined;
  return nights.map((night) => {
    const now = T0 + night * DAY_MS;
    for (const file of filesRead(files, now, last, damaged)) if (!damaged.has(file)) file.verifiedAt = now;
    last = now;
    return Math.max(...intact.map(({ verifiedAt }) => now - verifiedAt)) / DAY_MS;
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

test("files that remain damaged do not delay the others", () => {
  const nights = Array.from({ length: 70 }, (_, night) => night);
  fc.assert(
    fc.property(files, fc.nat(59), (given, count) => {
      const lake = structuredClone(given).sort((a, b) => a.verifiedAt - b.verifiedAt);
      const damaged = new Set(lake.slice(0, Math.min(count, lake.length - 1)));
      expect(Math.max(...nightly(lake, nights, damaged).slice(28))).toBeLessThanOrEqual(28);
    }),
  );
});

test("a night that was missed is made up for, and what was read last week is left alone", () => {
  const age = (days: number) => ({ bytes: 10, verifiedAt: T0 - days * DAY_MS });
  const lake = Array.from({ length: 21 }, (_, n) => age(8 + n));
  const chosen = (lastDays: number | undefined) =>
    filesRead(lake, T0, lastDays === undefined ? undefined : T0 - lastDays * DAY_MS).length;
  expect([chosen(undefined), chosen(1), chosen(3), chosen(500)]).toEqual([1, 1, 3, 21]);
  expect(filesRead(lake, T0, T0 - DAY_MS)).toEqual([age(28)]);
  expect(filesRead([age(6.9)], T0, undefined)).toEqual([]);
  expect(filesRead([], T0, undefined)).toEqual([]);
});

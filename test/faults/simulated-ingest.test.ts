import { expect, test } from "vitest";
import { SEED } from "../setup.js";
import { cases, pickCases, SWEEP } from "../sweep.js";
import { failureOf, outliveMany } from "./simulated-ingest/outlive-many.js";

/** Schedules of the whole sweep. */
const ALL = 200;
const SCHEDULES = cases({ few: 10, more: 40, all: ALL });
/** Schedules that reach, together, everything that may become of a request: some of it is rare. */
const PINNED: readonly number[] = [20_260_105, 20_260_120, 20_260_132, 20_260_280];

test(`after ${SCHEDULES} schedules of faults and kills the lake is the truth, and nothing was asked for twice`, async () => {
  let kills = 0;
  const failures: string[] = [];
  const met = new Set<string>();
  const others = pickCases(ALL, SCHEDULES - PINNED.length).map((n) => SEED + n);
  await outliveMany([...new Set([...PINNED, ...others])], (one) => {
    kills += one.kills;
    for (const outcome of one.met.keys()) met.add(outcome);
    if (one.findings.length > 0) failures.push(failureOf(one));
  });
  expect(failures).toEqual([]);
  expect(kills).toBeGreaterThan(0);
  // Which request meets which fault depends on their order: only in the whole sweep is each sure to be met.
  expect(met.size).toBeGreaterThan(6);
  if (SWEEP !== "all") return;
  expect([...met].sort()).toEqual([
    "another period",
    "another symbol",
    "answered",
    "cut body",
    "empty map",
    "error 200",
    "error 500",
    "error 503",
    "forbidden",
    "html 200",
    "html 502",
    "older window",
    "over quota",
    "reset",
    "short body",
    "too many",
  ]);
});

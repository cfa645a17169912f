import { expect, test } from "vitest";
import { SEED } from "../setup.js";
import { failureOf, outliveMany } from "./simulated-ingest/outlive-many.js";

const SCHEDULES = 200;

test(`after ${SCHEDULES} schedules of faults and kills the lake is the truth, and nothing was asked for twice`, async () => {
  let kills = 0;
  const failures: string[] = [];
  const met = new Set<string>();
  const seeds = Array.from({ length: SCHEDULES }, (_, n) => SEED + n);
  await outliveMany(seeds, (one) => {
    kills += one.kills;
    for (const outcome of one.requests.keys()) met.add(outcome);
    if (one.findings.length > 0) failures.push(failureOf(one));
  });
  expect(failures).toEqual([]);
  expect(kills).toBeGreaterThan(SCHEDULES / 2);
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
}, 1_800_000);

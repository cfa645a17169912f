import { expect, test } from "vitest";
import { SEED } from "../setup.js";
import { cases, pickCases, SWEEP } from "../sweep.js";
import { failureOf, outliveMany } from "./simulated-ingest/outlive-many.js";

/** Number of schedules of the whole sweep. */
const ALL = 200;
const SCHEDULES = cases({ few: 1, more: 7, all: ALL });
/**
 * Schedules that together cover nearly every outcome below, of which some are rare. Two of the first six meet each family:
 * the order in which requests arrive decides which one meets which fault, so that one schedule alone may miss it.
 */
const PINNED: readonly number[] = [
  20_260_686, 20_260_417, 20_260_778, 20_260_105, 20_260_120, 20_260_130, 20_260_281, 20_261_607, 960_245,
].slice(0, cases({ few: 0, more: 6, all: 9 }));

/** The outcomes of the schedules: each is counted when it has happened, not when it was drawn. */
const KINDS = [
  "another engine between runs: append",
  "another engine between runs: checkpoint",
  "another engine between runs: clean log",
  "another engine between runs: compact",
  "another engine between runs: delete",
  "another engine between runs: vacuum",
  "another engine during runs: append",
  "another engine during runs: checkpoint",
  "another engine during runs: clean log",
  "another engine during runs: compact",
  "another engine during runs: delete",
  "bar: corrected, and not requested again",
  "bar: deleted by another engine, and not missed",
  "bar: left out, and believed",
  "bar: left out, and landed later",
  "bar: withdrawn before it came",
  "bar: withdrawn, and in a report",
  "bar: withdrawn, and kept",
  "request: another period",
  "request: another symbol",
  "request: answered",
  "request: answered slowly",
  "request: cut body",
  "request: empty map",
  "request: endless body",
  "request: error 200",
  "request: error 500",
  "request: error 503",
  "request: flood",
  "request: forbidden",
  "request: html 200",
  "request: html 502",
  "request: missing day",
  "request: older window",
  "request: over quota",
  "request: quota used by others, with a wait",
  "request: quota used by others, without a wait",
  "request: reset",
  "request: short body",
  "request: too many",
  "request: trickle",
];
/** The pinned schedules cover some kind of each of these, in any order in which the requests of a run arrive. */
const FAMILIES: readonly RegExp[] = [
  /^another engine between runs/,
  /^another engine during runs/,
  /^bar: corrected/,
  /^bar: left out/,
  /^bar: withdrawn before/,
  /^bar: withdrawn, and kept/,
  /^request: (another|empty|older)/,
  /^request: (cut|short|reset|html|error)/,
  /^request: (trickle|endless|flood)/,
  /^request: answered slowly/,
  /^request: missing day/,
  /^request: quota used by others/,
  /^request: too many/,
];

test(`after ${SCHEDULES} schedules of faults and kills the lake is the truth, and nothing was asked for twice`, async () => {
  let kills = 0;
  const failures: string[] = [];
  const met = new Set<string>();
  const others = pickCases(ALL, SCHEDULES - PINNED.length).map((n) => SEED + n);
  await outliveMany([...new Set([...PINNED, ...others])], (one) => {
    kills += one.kills;
    for (const what of one.met.keys()) met.add(what);
    if (one.findings.length > 0) failures.push(failureOf(one));
  });
  expect(failures).toEqual([]);
  expect([...met].filter((kind) => !KINDS.includes(kind))).toEqual([]);
  // The order of requests decides which one meets which fault: only the whole sweep is sure to cover each.
  if (SWEEP === "few") return;
  expect(kills).toBeGreaterThan(0);
  expect(FAMILIES.filter((family) => ![...met].some((kind) => family.test(kind)))).toEqual([]);
  if (SWEEP === "all") expect(KINDS.filter((kind) => !met.has(kind))).toEqual([]);
});

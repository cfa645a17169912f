import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type FileEvidence,
  judgeDays,
  judgeMinutes,
  judgeUnits,
  type MinuteEvidence,
  TRADING_HOURS,
  UNIT_QUOTIENTS,
  type UnitEvidence,
} from "../../../../src/jobs/import/plan/judge-bars.js";
import type { Region } from "../../../../src/market/regions.js";
import { closeMinute, openMinute, SESSION_HOURS } from "../../../../src/market/sessions.js";
import { cases } from "../../../sweep.js";

const DAYS: FileEvidence = {
  rows: 10,
  symbols: 1,
  days: 10,
  dates: 10,
  instants: 0,
  midnights: 0,
  doubtful: 0,
  weekends: 0,
  ownWeekends: 0,
  clocks: 0,
  firstClocks: [0],
  sameDay: 0,
  longPeriod: undefined,
  minutes: [],
};

/** What minutes of a day show, counted from the minutes themselves. */
function shownBy(region: Region, minutes: readonly number[], ahead = 0): FileEvidence {
  const at = (minute: number): number => minutes.filter((one) => one === minute).length;
  const parts = SESSION_HOURS[region].parts;
  const [open, close] = [openMinute(region), closeMinute(region)];
  const isRegular = (minute: number): boolean => minute >= open && minute <= close;
  const regular = minutes.filter(isRegular);
  const steps = [60, 30, 15, 10, 5, 3, 2];
  const evidence: MinuteEvidence = {
    region,
    rows: minutes.length,
    seconds: 0,
    atOpen: at(open),
    atSecond: at(open + 1),
    atLast: at(close - 1),
    atClose: at(close),
    atNoonEnd: at(parts[0]?.[1] ?? 0),
    atAfternoon: at((parts[1] ?? [-1])[0]),
    early: minutes.filter((one) => one < open).length,
    outside: minutes.filter((one) => one < TRADING_HOURS[region][0] || one > TRADING_HOURS[region][1]).length,
    opening: minutes.filter((one) => one >= open && one <= open + 30).length,
    closing: minutes.filter((one) => one >= close - 30 && one <= close).length,
    span: regular.length === 0 ? 0 : Math.max(...regular) - Math.min(...regular) + 1,
    atFour: at(240),
    atTwenty: at(1200),
    regular: minutes.filter(isRegular).length,
    regularAsUtc: minutes.filter((one) => isRegular((one + ahead + 1440) % 1440)).length,
    clocks: new Set(minutes).size,
    step: steps.find((step) => new Set(minutes.map((one) => one % step)).size === 1) ?? 1,
  };
  return {
    ...DAYS,
    rows: minutes.length,
    days: 1,
    dates: 0,
    clocks: evidence.clocks,
    firstClocks: [...minutes].sort((a, b) => a - b).slice(0, 2),
    sameDay: minutes.length,
    minutes: [evidence],
  };
}

/** The minutes of the regular session by the ends of the bars. */
const session = (region: Region): number[] =>
  SESSION_HOURS[region].parts.flatMap(([open, close]) =>
    Array.from({ length: close - open }, (_, i) => open + 1 + i),
  );
const REGIONS = ["CN", "HK", "US"] as const;

test.each(REGIONS)(
  "a session of %s is recognised by its labels: ends stay, starts move by a minute",
  (region) => {
    const ends = session(region);
    expect(judgeMinutes(shownBy(region, ends), {})).toMatchObject({ shift: 0 });
    expect(judgeMinutes(shownBy(region, ends), {}).refusal).toBeUndefined();
    const starts = ends.map((minute) => minute - 1);
    expect(judgeMinutes(shownBy(region, starts), {})).toMatchObject({ shift: 1 });
  },
);

test("a few bars at the open may be either, and the user decides", () => {
  for (const region of REGIONS) {
    const few = shownBy(
      region,
      session(region)
        .slice(0, 5)
        .map((minute) => minute - 1),
    );
    expect(judgeMinutes(few, {}).refusal?.hint).toMatch(/barLabel: "start"/);
    expect(judgeMinutes(few, { barLabel: "start" })).toMatchObject({ shift: 1 });
    expect(judgeMinutes(few, { barLabel: "end" })).toMatchObject({ shift: 0 });
  }
});

test("whatever part of a session a file has, its labels are never taken for the other ones", () => {
  expect.hasAssertions();
  fc.assert(
    fc.property(
      fc.constantFrom(...REGIONS),
      fc.nat(400),
      fc.integer({ min: 1, max: 400 }),
      fc.boolean(),
      (region, first, length, isStart) => {
        const ends = session(region).slice(first, first + length);
        // Without its first bar, a session of starts begins as one of ends does.
        fc.pre(ends.length > 1 && !(isStart && first === 1));
        const own = isStart ? ends.map((minute) => minute - 1) : ends;
        const { refusal, shift } = judgeMinutes(shownBy(region, own), { zone: "UTC" });
        if (refusal === undefined) expect(shift).toBe(isStart ? 1 : 0);
      },
    ),
    { numRuns: cases({ few: 300, all: 20_000 }) },
  );
});

test.each([
  ["US", 300],
  ["US", 240],
  ["CN", -480],
  ["HK", -480],
] as const)("a session of %s in UTC (%i minutes away) is refused, with the zone", (region, ahead) => {
  const utc = session(region).map((minute) => (minute + ahead + 1440) % 1440);
  expect(judgeMinutes(shownBy(region, utc, -ahead), {}).refusal?.hint).toMatch(/zone: "UTC"/);
  const own = session(region);
  expect(judgeMinutes(shownBy(region, own, -ahead), {}).refusal).toBeUndefined();
});

test.each([
  ["US", 780, "Shanghai in winter"],
  ["US", 360, "Berlin"],
  ["US", 420, "Athens"],
  ["US", -60, "Chicago"],
  ["US", -180, "Los Angeles"],
  ["CN", 60, "Tokyo"],
  ["CN", -780, "New York in winter"],
  ["HK", 60, "Tokyo"],
] as const)(
  "whole sessions of %s that are %i minutes away, in %s, are refused, with either label",
  (region, ahead, _city) => {
    for (const label of [0, -1]) {
      const times = session(region).map((minute) => (minute + label + ahead + 1440) % 1440);
      expect(judgeMinutes(shownBy(region, times, 0), {}).refusal?.hint).toMatch(/zone/);
      expect(judgeMinutes(shownBy(region, times, 0), { barLabel: "end" }).refusal?.hint).toMatch(/zone/);
      const given = { zone: "America/New_York", barLabel: "end" } as const;
      expect(judgeMinutes(shownBy(region, times, 0), given).refusal).toBeUndefined();
    }
  },
);

test("a stock that seldom trades does not show its labels, and a few bars a day are no minutes", () => {
  expect(judgeMinutes(shownBy("US", [571, 587, 603, 678, 782, 884, 950]), {}).refusal?.hint).toMatch(
    /barLabel/,
  );
  // Bars of the closing auction have the label of the close in both ways.
  for (const [region, minutes] of [
    ["US", [577, 602, 675, 760, 845, 931, 959, 960]],
    ["US", [577, 602, 675, 760, 845, 931, 959, 960, 1042]],
    ["US", [958, 959, 960]],
    ["CN", [570, 577, 602, 675, 782, 845, 896, 900]],
  ] as const)
    expect(judgeMinutes(shownBy(region, minutes), {}).refusal?.hint).toMatch(/barLabel/);
  const twice = { ...shownBy("CN", [690, 900]), rows: 12, days: 6, sameDay: 12 };
  expect(judgeMinutes(twice, {}).refusal?.reason).toMatch(/hours \(2 a day\)/);
  expect(judgeMinutes(twice, { period: "1m", barLabel: "end" }).refusal).toBeUndefined();
});

test.each([2, 5, 15, 30, 60])("bars of %i minutes are not of one", (step) => {
  const long = session("US").filter((minute) => (minute - 570) % step === 0);
  expect(judgeMinutes(shownBy("US", long), {}).refusal?.reason).toMatch(
    step === 60 ? /hours/ : `${step} minutes`,
  );
  expect(judgeMinutes(shownBy("US", long), { period: "1m", barLabel: "end" }).refusal).toBeUndefined();
});

test("dates are no minutes; one row without a time does not make days of the others", () => {
  expect(judgeMinutes(DAYS, {}).refusal?.reason).toMatch(/of days/);
  expect(judgeMinutes({ ...shownBy("US", session("US")), dates: 1 }, {}).refusal).toBeUndefined();
});

test("instants at midnight have their own dates, unless only those are on weekends", () => {
  const instants = { ...DAYS, dates: 0, instants: 10, midnights: 10 };
  expect(judgeDays({ ...instants, weekends: 2 }, {}).ownDates).toBe(true);
  expect(judgeDays({ ...instants, weekends: 0, ownWeekends: 2 }, {}).ownDates).toBe(false);
  // The day of the last bar may be running; more other instants may be evenings of the exchange.
  expect(judgeDays({ ...instants, midnights: 9 }, {}).ownDates).toBe(true);
  const doubtful = { ...instants, midnights: 8, doubtful: 1 };
  expect(judgeDays(doubtful, {}).refusal?.hint).toMatch(/zone: "UTC"/);
  expect(judgeDays(doubtful, { zone: "UTC" })).toMatchObject({ ownDates: false });
  expect(judgeDays({ ...instants, dates: 1, rows: 11 }, {}).ownDates).toBe(true);
  expect(judgeDays(DAYS, {})).toMatchObject({ ownDates: false, found: [], remarks: [] });
});

test("longer and shorter periods are no days", () => {
  for (const [days, period] of [
    [7, "weeks"],
    [30, "months"],
    [91, "quarters"],
    [365, "years"],
  ] as const) {
    const long = { ...DAYS, longPeriod: { symbol: "AAPL.US", days } };
    expect(judgeDays(long, {}).refusal?.reason).toContain(period);
    expect(judgeDays(long, { period: "1d" }).refusal).toBeUndefined();
  }
  const minutes = { ...DAYS, dates: 0, clocks: 390, firstClocks: [571, 572], sameDay: 10 };
  expect(judgeDays(minutes, {}).refusal?.hint).toMatch(/bars_1m/);
  const twice = { ...DAYS, dates: 0, clocks: 2, firstClocks: [0, 900], sameDay: 10 };
  expect(judgeDays(twice, {}).refusal).toBeUndefined();
});

/** Rows whose amounts are of one quotient alone. */
const agreeing = (quotient: number | undefined, rows = 10): UnitEvidence => ({
  rows,
  agreeing: new Map(UNIT_QUOTIENTS.map((one) => [one, one === quotient ? rows : 0])),
});
const NONE = { source: undefined, units: { volume: undefined, amount: undefined } };
const SHARES = { volumeUnit: "shares", amountUnit: "ones" } as const;

test("numbers that agree with shares need no option, and others are refused with what they agree with", () => {
  expect(judgeUnits(agreeing(1), NONE, {})).toEqual({ ...SHARES, found: [], remarks: [] });
  expect(judgeUnits(agreeing(100), NONE, {}).refusal?.hint).toMatch(/^add `volumeUnit: "lots"`/);
  expect(judgeUnits(agreeing(0.1), NONE, {}).refusal?.hint).toMatch(/lots.*thousands/);
  expect(judgeUnits(agreeing(undefined), NONE, {})).toMatchObject({
    ...SHARES,
    remarks: [expect.stringContaining("indexes")],
  });
  expect(judgeUnits(agreeing(100), NONE, { volumeUnit: "lots" })).toMatchObject({ volumeUnit: "lots" });
  expect(judgeUnits(agreeing(0.1), NONE, { volumeUnit: "lots" })).toMatchObject({
    volumeUnit: "lots",
    amountUnit: "thousands",
  });
  expect(judgeUnits(agreeing(1), NONE, { volumeUnit: "lots" }).refusal).toBeDefined();
});

test("names of columns say units; what a source says gives way to numbers that agree with shares", () => {
  const lots = { source: undefined, units: { volume: "lots", amount: undefined } } as const;
  expect(judgeUnits(agreeing(undefined, 0), lots, {})).toMatchObject({ volumeUnit: "lots" });
  expect(judgeUnits(agreeing(100), lots, {})).toMatchObject({ volumeUnit: "lots" });
  expect(judgeUnits(agreeing(1), lots, {}).refusal?.hint).toMatch(/volumeUnit: "shares"/);
  const source = {
    source: { name: "a source", table: "bars_", columns: [], volumeUnit: "lots" },
    units: NONE.units,
  } as const;
  expect(judgeUnits(agreeing(100), source, {})).toMatchObject({ volumeUnit: "lots" });
  expect(judgeUnits(agreeing(1), source, {})).toMatchObject(SHARES);
  expect(judgeUnits(agreeing(undefined, 0), source, {})).toMatchObject({ volumeUnit: "lots" });
});

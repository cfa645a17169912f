import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type FileEvidence,
  judgeMinutes,
  type MinuteEvidence,
  TRADING_HOURS,
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

import { expect, test } from "vitest";
import type { PipelineDefinition } from "../../../../src/jobs/pipeline/definition.js";
import type { RunReport } from "../../../../src/jobs/run/run-pipeline.js";
import { json } from "../../../faults/service/scripted-service.js";
import { queryLake } from "../../../lake/temporary-lake.js";
import { type BarTimes, minutes, newestBars, weekdays } from "../../minute-market.js";
import { filledMarket } from "../../scripted-market.js";

const DAY = 86_400_000;
const FROM = "2023-01-02";
const TO = "2023-05-20";
const DAYS = weekdays(FROM, TO);
const SYMBOLS = Array.from({ length: 24 }, (_, n) => `${600_000 + n}.SH`);
const DAILY: PipelineDefinition = { name: "daily", kind: "bars", period: "1d", from: FROM };
const MINUTE: PipelineDefinition = { name: "minute", kind: "bars", period: "1m", from: FROM };
/** Minutes of a session, and most bars of a symbol in a response: a window of the plan is one session. */
const SESSION = 30;
const CAP = 50;

/** Six weeks of which the service has no minute of any symbol. */
const isMissing = (day: number): boolean => day > 50 && day < 80;

/**
 * The sessions on which a symbol has minutes: of every six, two have those of all sessions that the service has, one lacks
 * each seventh, one begins late, one ends early, and one has none.
 */
const KINDS: readonly ((day: number) => boolean)[] = [
  () => true,
  () => true,
  (day) => day % 7 !== 3,
  (day) => day > 85,
  (day) => day < 20,
  () => false,
];

function minutesOf(has: (day: number) => boolean): BarTimes {
  const of = (n: number): number[] =>
    DAYS.filter((_, day) => has(day) && KINDS[n % KINDS.length]?.(day) === true).flatMap((day) =>
      minutes([day]).slice(0, SESSION),
    );
  return Object.fromEntries(SYMBOLS.map((symbol, n) => [symbol, of(n)]));
}

/** A service with all daily bars and some minutes, and a lake with these daily bars. */
async function patchyMarket(market: BarTimes) {
  const given = { market };
  const daily = Object.fromEntries(SYMBOLS.map((symbol) => [symbol, DAYS]));
  const { clock, lake, run } = await filledMarket(
    (seen, response) => {
      const isDaily = seen.query.get("period") === "1d";
      json(response, 200, { data: isDaily ? newestBars(seen, daily) : newestBars(seen, given.market, CAP) });
    },
    `${TO}T00:00:00Z`,
    { filledBy: import.meta.url, name: "days" },
    (first) => first(DAILY, { symbols: SYMBOLS }),
  );
  /** Runs `minute` so many days after the last run. @param cap the cap that earlier runs have learned. */
  const minute = (days: number, cap?: number): Promise<RunReport> => {
    clock.advance(days * DAY + 1000);
    return run(MINUTE, { symbols: SYMBOLS, to: TO }, undefined, { rowCap: cap ? { "1m": cap } : {} });
  };
  const bars = async (): Promise<number> => {
    const [row] = await queryLake<{ n: number }>(lake, "SELECT count(*)::INT AS n FROM bars_1m");
    return row?.n ?? 0;
  };
  return { given, minute, bars };
}

const countOf = (market: BarTimes): number =>
  Object.values(market).reduce((sum, { length }) => sum + length, 0);

test("of patchy minutes each empty time is asked for once more, in one request, and is then known", async () => {
  const market = minutesOf((day) => !isMissing(day));
  const { minute, bars } = await patchyMarket(market);
  // The cap is learned in this run: what it asks for before is in longer windows than what it asks for afterwards.
  const first = await minute(0);
  expect(await bars()).toBe(countOf(market));
  // Nothing shows yet whether the service has minutes of the symbols that have none in other windows.
  expect(first).toMatchObject({ status: "partial" });
  const barren = SYMBOLS.filter((_, n) => n % 6 === 5);
  const [start, end] = [DAYS[51], DAYS[80]];
  expect(first.completeness[0]?.unexplained).toEqual(barren.map((symbol) => ({ symbol, start, end })));
  const second = await minute(0, CAP);
  expect(second).toMatchObject({ status: "complete", requests: { sent: 1 } });
  expect(second.completeness[0]?.absent).toEqual([{ reason: "unavailable", symbols: 4, sessions: 4 * 29 }]);
  expect(await minute(0, CAP)).toMatchObject({ status: "complete", requests: { sent: 0 } });
  const nights: number[] = [];
  for (let night = 0; night < 7; night++) {
    const report = await minute(1, CAP);
    expect(report.status).toBe("complete");
    nights.push(report.requests.sent);
  }
  expect(nights).toEqual([1, 1, 1, 0, 0, 1, 1]);
});

test("what a service has of empty time later lands whole in few requests, although a response has less than two of its sessions", async () => {
  const { given, minute, bars } = await patchyMarket(minutesOf((day) => !isMissing(day)));
  await minute(0);
  given.market = minutesOf(() => true);
  const reports = [await minute(1, CAP), await minute(1, CAP)];
  expect(reports.map(({ status }) => status)).toEqual(["complete", "complete"]);
  expect(await bars()).toBe(countOf(given.market));
  expect(reports[0]?.requests.sent).toBeLessThan(2 * 29);
  expect(reports[1]?.requests.sent).toBe(0);
});

test("minutes of many symbols that end three sessions ago stay unexplained, at one request for a run", async () => {
  const { given, minute, bars } = await patchyMarket(minutesOf((day) => day < DAYS.length - 3));
  expect((await minute(0)).status).toBe("partial");
  const again = [await minute(0, CAP), await minute(0, CAP), await minute(1, CAP), await minute(2, CAP)];
  expect(again.map(({ status, requests }) => [status, requests.sent])).toEqual([
    ["partial", 1],
    ["partial", 0],
    ["partial", 1],
    ["partial", 1],
  ]);
  given.market = minutesOf(() => true);
  expect((await minute(4, CAP)).status).toBe("complete");
  expect(await bars()).toBe(countOf(given.market));
});

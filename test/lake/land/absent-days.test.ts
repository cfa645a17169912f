import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { dateOfEpochDay } from "../../../src/core/time.js";
import { unvouchedCloses } from "../../../src/db/market/unvouched-closes.js";
import { Session } from "../../../src/db/session/session.js";
import { landAbsentDays } from "../../../src/lake/land/absent-days.js";
import { landTradingDays } from "../../../src/lake/land/trading-days.js";
import { openReader } from "../../../src/lake/open-reader.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { once } from "../../once.js";
import { cases } from "../../sweep.js";
import { land, openSession, queryLake, T0, temporaryLake } from "../temporary-lake.js";

const SYMBOLS = ["600000.SH", "00700.HK"];
/** A Wednesday. */
const FIRST = 19_723;

const fact = fc
  .record({
    symbol: fc.constantFrom(...SYMBOLS),
    first: fc.nat(40),
    count: fc.constantFrom(0, 1, 1, 2, 5, 20),
    hasNone: fc.constantFrom(true, true, false),
  })
  .map(({ symbol, first, count, hasNone }) => ({
    symbol,
    first: FIRST + first,
    end: FIRST + first + count,
    hasNone,
  }));

const isWeekday = (day: number): boolean => ![0, 6].includes(new Date(day * 86_400_000).getUTCDay());

test("the weekdays of the stretches are those of which the last fact said that there is no bar", async () => {
  using session = await Session.open({ threads: 1 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fact, { maxLength: 6 }), { minLength: 1, maxLength: 6 }),
      async (landings) => {
        const lake = temporaryLake();
        const expected = new Set<string>();
        for (const facts of landings) {
          for (const { symbol, first, end, hasNone } of facts)
            for (let day = first; day < end; day++)
              if (isWeekday(day) && hasNone) expected.add(`${symbol} ${dateOfEpochDay(day)}`);
              else expected.delete(`${symbol} ${dateOfEpochDay(day)}`);
          await landAbsentDays(session, lake, facts, { operation: "TEST", runId: "test", now: 1e12 });
        }
        const rows = await queryLake<{ symbol: string; day: string }>(
          lake,
          `SELECT symbol, CAST(unnest(generate_series(first_date, last_date, INTERVAL 1 DAY)) AS DATE)::VARCHAR AS day FROM raw.absences_1d`,
        );
        const found = rows
          .filter(({ day }) => isWeekday(Date.parse(day) / 86_400_000))
          .map(({ symbol, day }) => `${symbol} ${day}`);
        expect(found.sort()).toEqual([...expected].sort());
        // Stretches do not touch one another, so that a suspension of many nights is one row.
        const touching = await queryLake(
          lake,
          `SELECT * FROM raw.absences_1d AS a JOIN raw.absences_1d AS b ON a.symbol = b.symbol AND b.first_date > a.first_date
           AND b.first_date <= a.last_date + CASE isodow(a.last_date) WHEN 5 THEN 3 ELSE 1 END`,
        );
        expect(touching).toEqual([]);
      },
    ),
    { numRuns: cases({ few: 8, more: 40, all: 400 }) },
  );
});

once("writers at the same time: no stretch is lost", async () => {
  const lake = temporaryLake();
  const sessions = await Promise.all([1, 2, 3].map(() => Session.open({ threads: 1 })));
  onTestFinished(() => {
    for (const session of sessions) session.close();
  });
  const options = { operation: "TEST", runId: "test", now: 1e12 };
  await Promise.all(
    sessions.map(async (session, n) => {
      for (let k = 0; k < 4; k++) {
        const first = FIRST + 7 * (3 * k + n);
        await landAbsentDays(
          session,
          lake,
          [{ symbol: "600000.SH", first, end: first + 1, hasNone: true }],
          options,
        );
      }
    }),
  );
  expect(await queryLake(lake, "SELECT count(*)::INT AS n FROM raw.absences_1d")).toEqual([{ n: 12 }]);
});

once(
  "a bar before the first known session: sessions after it with an answer are no hole, those without one are named",
  async () => {
    const [lake, session] = [temporaryLake(), await openSession()];
    const at = (day: number): string => `2024-01-${String(day).padStart(2, "0")}T00:00:00+08:00`;
    const [asked, unasked] = ["600519.SH", "600520.SH"];
    // The 10th is a holiday.
    await land(session, lake, BARS_1D, [
      ...[8, 9, 11, 12].map((day) => ({ symbol: "000001.SH", at: at(day) })),
      ...[asked, unasked].flatMap((symbol) => [
        { symbol, at: at(2) },
        { symbol, at: at(12), prevClose: 5 },
      ]),
    ]);
    const options = { operation: "TEST", runId: "test", now: T0 };
    await landTradingDays(session, lake, options);
    const day = (n: number): number => Date.parse(`2024-01-${n}`.replace(/-(\d)$/, "-0$1")) / 86_400_000;
    const absent = (first: number, end: number) => ({
      symbol: asked,
      first: day(first),
      end: day(end),
      hasNone: true,
    });
    await landAbsentDays(session, lake, [absent(8, 10), absent(11, 12)], options);
    expect(await queryLake(lake, "SELECT symbol, has_hole FROM restated_closes ORDER BY symbol")).toEqual([
      { symbol: asked, has_hole: false },
      { symbol: unasked, has_hole: true },
    ]);
    const { session: opened } = await openReader(lake, { threads: 1 });
    using reader = opened;
    expect(await unvouchedCloses(reader)).toMatchObject({ closes: 1, symbols: [unasked] });
  },
);

once(
  "staged bars without a price and without a volume: their days have no bar, once they are final",
  async () => {
    const [lake, session] = [temporaryLake(), await openSession()];
    const idle = { open: 0, high: 0, low: 0, close: 0, volume: 0, amount: 0 };
    const finalEnd = Date.parse("2024-01-09T00:00:00+08:00");
    await land(
      session,
      lake,
      BARS_1D,
      [8, 9].map((day) => ({ at: `2024-01-0${day}T00:00:00+08:00`, ...idle })),
      { finalEnd: { CN: finalEnd, HK: finalEnd, US: finalEnd } },
    );
    expect(
      await queryLake(
        lake,
        "SELECT first_date::VARCHAR AS first, last_date::VARCHAR AS last FROM raw.absences_1d",
      ),
    ).toEqual([{ first: "2024-01-08", last: "2024-01-08" }]);
  },
);

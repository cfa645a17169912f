import { expect, test } from "vitest";
import { stageObjects } from "../../src/lake/land/clear-values.js";
import { upsert } from "../../src/lake/land/upsert.js";
import { openReader } from "../../src/lake/open-reader.js";
import { BARS_1D, BARS_1M, TRADING_DAYS } from "../../src/schema/bars.js";
import { land, openSession, T0, type TestBar, temporaryLake } from "../lake/temporary-lake.js";

/** Weekdays from 2024-01-01 on. */
const DAYS = Array.from({ length: 60 }, (_, i) => new Date(Date.UTC(2024, 0, i + 1)))
  .filter((day) => day.getUTCDay() % 6 !== 0)
  .map((day) => day.toISOString().slice(0, 10));

async function found(
  query: string,
  bars: { daily?: readonly TestBar[]; minute?: readonly TestBar[] },
): Promise<unknown[][]> {
  const [lake, session] = [temporaryLake(), await openSession()];
  await stageObjects(
    session,
    "days",
    TRADING_DAYS.columns,
    DAYS.map((trade_date) => ({ region: "CN", trade_date, source: "index" })),
  );
  await upsert(session, lake, TRADING_DAYS, "days", { operation: "TEST", runId: "test", now: T0 });
  if (bars.daily) await land(session, lake, BARS_1D, bars.daily);
  if (bars.minute) await land(session, lake, BARS_1M, bars.minute);
  const { session: reader } = await openReader(lake, { threads: 1, statement: query });
  try {
    return (await reader.json(query)).map((row) => Object.values(row as object));
  } finally {
    reader.close();
  }
}

const daily = (n: number, more: Partial<TestBar> = {}): TestBar => ({
  at: `${DAYS[n]}T00:00:00+08:00`,
  ...more,
});
const flat = (n: number, price: number, more: Partial<TestBar> = {}): TestBar =>
  daily(n, { open: price, high: price, low: price, close: price, ...more });

test("quality_ohlc names the rule that a bar breaks; zeros of a suspended day break none", async () => {
  const rows = await found("SELECT trade_date::VARCHAR, rule FROM quality_ohlc ORDER BY ALL", {
    daily: [
      daily(0),
      daily(1, { open: 0 }),
      daily(2, { high: 10.2, close: 10.5 }),
      daily(3, { low: 10.2, open: 10 }),
      daily(4, { open: 0, high: 0, low: 0, volume: 0 }),
      flat(5, 10, { volume: 0, amount: 7 }),
      flat(6, -1, { amount: 5 }),
      daily(7, { amount: -1 }),
    ],
  });
  expect(rows).toEqual([
    [DAYS[1], "price of 0"],
    [DAYS[2], "high is not the highest"],
    [DAYS[3], "low is not the lowest"],
    [DAYS[5], "amount without volume"],
    [DAYS[6], "negative or not finite"],
    [DAYS[7], "negative volume or amount"],
  ]);
});

test("quality_units finds shares that were taken for lots, and allows for rounding", async () => {
  const rows = await found("SELECT trade_date::VARCHAR, round(ratio, 4) FROM quality_units ORDER BY 1", {
    daily: [
      flat(0, 10, { volume: 1000, amount: 10_000 }),
      flat(1, 10, { volume: 1000, amount: 1_000_000 }),
      flat(2, 10, { volume: 1049, amount: 10_000 }),
      flat(3, 10, { volume: 1000, amount: 0 }),
    ],
  });
  expect(rows).toEqual([[DAYS[1], 100]]);
});

test("quality_gaps joins missing sessions to stretches, and counts the minutes that a day lacks", async () => {
  const minutes = Array.from({ length: 240 }, (_, i) => {
    const minute = i < 120 ? 571 + i : 781 + i - 120;
    return `${String(Math.floor(minute / 60)).padStart(2, "0")}:${String(minute % 60).padStart(2, "0")}`;
  });
  const day = (n: number, times: readonly string[]): TestBar[] =>
    times.map((time) => ({ at: `${DAYS[n]}T${time}:00+08:00` }));
  const rows = await found(
    "SELECT dataset, kind, first_date::VARCHAR, last_date::VARCHAR, sessions::INT, missing_minutes::INT FROM quality_gaps ORDER BY ALL",
    {
      daily: [0, 1, 4, 6].map((n) => daily(n)),
      minute: [
        ...day(0, minutes),
        ...day(2, [...minutes.slice(0, 119), ...minutes.slice(121), "13:00"]),
        ...day(3, minutes),
      ],
    },
  );
  expect(rows).toEqual([
    ["bars_1d", "session", DAYS[2], DAYS[3], 2, 0],
    ["bars_1d", "session", DAYS[5], DAYS[5], 1, 0],
    ["bars_1m", "minutes", DAYS[2], DAYS[2], 1, 2],
    ["bars_1m", "session", DAYS[1], DAYS[1], 1, 0],
  ]);
});

test("quality_outliers finds a split that the source does not state, and not one that it does", async () => {
  const quiet = Array.from({ length: 30 }, (_, n) => flat(n, n % 2 === 0 ? 10 : 10.1));
  const rows = await found("SELECT trade_date::VARCHAR, round(simple_return, 3) FROM quality_outliers", {
    daily: [...quiet, flat(30, 5), flat(31, 2.5, { prevClose: 2.5 })],
  });
  expect(rows).toEqual([[DAYS[30], -0.505]]);
});

test("quality_stale joins bars of the same prices; quality_duplicates finds the day before again", async () => {
  const bars = [
    flat(0, 9),
    ...[1, 2, 3, 4, 5].map((n) => flat(n, 10, { volume: 0, amount: 0 })),
    flat(6, 11),
    flat(7, 11),
  ];
  expect(
    await found("SELECT first_date::VARCHAR, last_date::VARCHAR, bars::INT, traded::INT FROM quality_stale", {
      daily: bars,
    }),
  ).toEqual([[DAYS[1], DAYS[5], 5, 0]]);
  expect(
    await found("SELECT trade_date::VARCHAR, rule FROM quality_duplicates ORDER BY ALL", {
      daily: [...bars, { ...flat(9, 12), at: `${DAYS[9]}T15:00:00+08:00` }, flat(9, 12.5)],
    }),
  ).toEqual([
    [DAYS[7], "the day before again"],
    [DAYS[9], "two bars on a date"],
  ]);
});

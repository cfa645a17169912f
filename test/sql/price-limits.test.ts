import { expect, test } from "vitest";
import { stageObjects } from "../../src/lake/land/clear-values.js";
import { upsert } from "../../src/lake/land/upsert.js";
import { BARS_1D, TRADING_DAYS } from "../../src/schema/bars.js";
import { INSTRUMENTS } from "../../src/schema/reference.js";
import { land, openSession, queryLake, T0, temporaryLake } from "../lake/temporary-lake.js";
import { landReference } from "../serve/served-lake.js";

type Day = readonly [day: string, prevClose: number, price: number, low?: number];

interface Instrument {
  readonly symbol: string;
  readonly name?: string;
  readonly type?: string;
  readonly listing_date?: string;
}

/** The weekdays around the Golden Week of 2023, which was closed from 29 September to 6 October. */
const CALENDAR = [
  "2023-09-27",
  "2023-09-28",
  "2023-10-09",
  "2023-10-10",
  "2023-10-11",
  "2023-10-12",
  "2023-10-13",
];

/** The status of days of an instrument whose metadata was seen at a time. */
async function statusOf(
  { symbol, ...more }: Instrument,
  days: readonly Day[],
  seen = "2026-06-01T00:00:00Z",
): Promise<unknown[][]> {
  const [lake, session] = [temporaryLake(), await openSession()];
  const [region, zone] = symbol.endsWith(".US") ? ["US", "-05:00"] : ["CN", "+08:00"];
  const calendar = CALENDAR.map((trade_date) => ({ region: "CN", trade_date, source: "index" }));
  await stageObjects(session, "days", TRADING_DAYS.columns, calendar);
  await upsert(session, lake, TRADING_DAYS, "days", { operation: "TEST", runId: "test", now: T0 });
  await land(
    session,
    lake,
    BARS_1D,
    days.map(([day, prevClose, price, low = price]) => ({
      symbol,
      at: `${day}T00:00:00${zone}`,
      open: low,
      high: price,
      low,
      close: price,
      prevClose,
    })),
  );
  const metadata = {
    code: symbol.slice(0, 6),
    exchange: symbol.split(".")[1],
    name: "Maotai",
    type: "stock",
  };
  await landReference(lake, INSTRUMENTS, [{ symbol, region, ...metadata, ...more }], {
    now: Date.parse(seen),
  });
  const rows = await queryLake<object>(
    lake,
    `SELECT limit_up_price, limit_down_price, limit_source, tradable FROM daily_status WHERE has_bar ORDER BY trade_date`,
  );
  return rows.map((row) => Object.values(row));
}

test("a listing of 2014: 44 and 36 % on the first day, and then days of one price at 10 % that nobody could buy", async () => {
  const listed = { symbol: "603100.SH", listing_date: "2014-01-23" };
  expect(
    await statusOf(listed, [
      ["2014-01-23", 10, 14.4, 12],
      ["2014-01-24", 14.4, 15.84],
      ["2014-01-27", 15.84, 17.42],
      ["2014-01-28", 17.42, 19.16],
    ]),
  ).toEqual([
    [14.4, 6.4, "rule", true],
    [15.84, 12.96, "rule", false],
    [17.42, 14.26, "rule", false],
    [19.16, 15.68, "rule", false],
  ]);
  expect(await statusOf({ ...listed, listing_date: "2013-06-03" }, [["2013-06-03", 10, 14.4, 12]])).toEqual([
    [null, null, "new", true],
  ]);
});

test("sessions without a limit are sessions of the exchange, over a week of holidays, too", async () => {
  const days = CALENDAR.map((day): Day => [day, 10, 10]);
  const limits = async (one: Instrument): Promise<unknown[]> => (await statusOf(one, days)).map(([up]) => up);
  const five = [null, null, null, null, null];
  for (const [symbol, board] of [
    ["603100.SH", 11],
    ["688100.SH", 12],
    ["301100.SZ", 12],
  ] as const)
    expect(await limits({ symbol, listing_date: "2023-09-27" })).toEqual([...five, board, board]);
  // A share of another day, of which the calendar knows nothing: after three weeks five sessions are over.
  expect(await limits({ symbol: "603100.SH", listing_date: "2023-09-26" })).toEqual([...five, null, null]);
  expect(await limits({ symbol: "830001.BJ", listing_date: "2023-09-27" })).toEqual([
    null,
    ...Array.from({ length: 6 }, () => 13),
  ]);
  expect(await limits({ symbol: "510300.SH", type: "etf", listing_date: "2023-09-27" })).toEqual(
    Array.from({ length: 7 }, () => 11),
  );
});

test("a special treatment counts from when the lake saw the name, not for the past", async () => {
  const days: Day[] = [
    ["1997-03-03", 10, 10],
    ["2010-03-01", 10, 10],
    ["2026-06-02", 10, 10],
  ];
  expect((await statusOf({ symbol: "600100.SH", name: "*ST Maotai" }, days)).map(([up]) => up)).toEqual([
    11, 11, 10.5,
  ]);
});

test("funds have the limit of the board whose shares they hold", async () => {
  const up = async (symbol: string, name: string, day: string): Promise<unknown> =>
    (await statusOf({ symbol, name, type: "etf" }, [[day, 1, 1]]))[0]?.[0];
  expect(await up("588000.SH", "科创50ETF", "2023-09-27")).toBe(1.2);
  expect(await up("159915.SZ", "创业板ETF", "2023-09-27")).toBe(1.2);
  expect(await up("159915.SZ", "创业板ETF", "2020-08-21")).toBe(1.1);
  expect(await up("159700.SZ", "科创债ETF", "2023-09-27")).toBe(1.1);
  expect(await up("159992.SZ", "创新药ETF", "2023-09-27")).toBe(1.1);
});

test("a limit outside of which the day traded was not in force", async () => {
  const days: Day[] = [
    ["2010-03-01", 10, 11.5],
    ["2010-03-02", 10, 8.5],
    ["2010-03-03", 10, 11],
  ];
  expect(await statusOf({ symbol: "600100.SH" }, days)).toEqual([
    [null, null, "refuted", true],
    [null, null, "refuted", true],
    [11, 9, "rule", false],
  ]);
  expect(await statusOf({ symbol: "AAPL.US" }, [["2023-09-27", 10, 11]])).toEqual([[null, null, null, true]]);
});

test("a limit of half a tick is rounded up, of every previous close: the days at it are no refutation", async () => {
  // In hundredths: the limit is exact in integers.
  const hundredths = Array.from({ length: 60 }, (_, n) => 365 + 70 * n);
  const days = hundredths.map((cents, n): Day => {
    const day = new Date(Date.UTC(2024, 0, 1) + n * 86_400_000).toISOString().slice(0, 10);
    return [day, cents / 100, Math.floor((cents * 110 + 50) / 100) / 100];
  });
  const status = await statusOf({ symbol: "600519.SH", listing_date: "2001-08-27" }, days);
  expect(status).toEqual(
    hundredths.map((cents) => [
      Math.floor((cents * 110 + 50) / 100) / 100,
      Math.floor((cents * 90 + 50) / 100) / 100,
      "rule",
      false,
    ]),
  );
});

import { describe, expect, test } from "vitest";
import { DAY_MS } from "../../../src/core/time.js";
import { TempTable } from "../../../src/db/session/session.js";
import { landTradingDays, readTradingDays } from "../../../src/lake/land/trading-days.js";
import { upsert } from "../../../src/lake/land/upsert.js";
import type { Region } from "../../../src/market/regions.js";
import { BARS_1D, TRADING_DAYS } from "../../../src/schema/bars.js";
import { land, openSession, T0, type TestBar, temporaryLake } from "../temporary-lake.js";

const OPTIONS = { operation: "TEST", runId: "test", now: T0 };

/** Shanghai's midnight of a date, the label of its daily bars. */
const midnight = (date: string): number => Date.parse(`${date}T00:00:00+08:00`);

/** Bars of a number of Shanghai stocks on dates. */
function stocks(count: number, dates: readonly string[], volume = 100, from = 600_000): TestBar[] {
  return dates.flatMap((date) =>
    Array.from({ length: count }, (_, n) => ({ symbol: `${from + n}.SH`, at: midnight(date), volume })),
  );
}

const index = (dates: readonly string[]): TestBar[] =>
  dates.map((date) => ({ symbol: "000001.SH", at: midnight(date) }));

async function daysOf(bars: readonly TestBar[], region: Region = "CN") {
  const [lake, session] = [temporaryLake(), await openSession()];
  await land(session, lake, BARS_1D, bars);
  await landTradingDays(session, lake, OPTIONS);
  return (await readTradingDays(session, lake)).get(region) ?? [];
}

describe("trading days", () => {
  const WEEK = ["2026-11-09", "2026-11-10", "2026-11-11", "2026-11-12", "2026-11-13"];

  test("are those of the index where the lake has it, also where some stocks traded on others", async () => {
    const usual = ["2026-11-09", "2026-11-11", "2026-11-13"];
    const bars = [...index(usual), ...stocks(30, usual), ...stocks(12, ["2026-11-10"])];
    expect(await daysOf(bars)).toEqual(usual);
    // Too few symbols to show anything.
    expect(await daysOf([...index(usual), ...stocks(9, WEEK)])).toEqual(usual);
  });

  test("are also days on which the index has no bar, but most stocks traded: its history has a hole", async () => {
    const usual = ["2026-11-09", "2026-11-11", "2026-11-13"];
    expect(await daysOf([...index(usual), ...stocks(12, WEEK)])).toEqual(WEEK);
    // Many have ended, or begun, since the trading day before.
    const before = [...stocks(40, ["2026-11-09"]), ...stocks(12, ["2026-11-10", "2026-11-11"])];
    expect(await daysOf([...index(usual), ...before])).toEqual([...usual, "2026-11-10"].sort());
  });

  test("are found where bars of a hole of the index come after those of the days around it", async () => {
    const [lake, session] = [temporaryLake(), await openSession()];
    const usual = ["2026-10-29", "2026-11-09", "2026-11-13"];
    await land(session, lake, BARS_1D, [...index(usual), ...stocks(30, usual)]);
    await landTradingDays(session, lake, OPTIONS);
    await land(session, lake, BARS_1D, [...stocks(30, ["2026-11-02"]), ...stocks(12, ["2026-11-10"])]);
    await landTradingDays(session, lake, OPTIONS);
    expect((await readTradingDays(session, lake)).get("CN")).toEqual([...usual, "2026-11-02"].sort());
  });

  test("are those on which most symbols traded where there is no index: a bar without volume is no trade", async () => {
    const bars = [
      ...stocks(12, ["2026-11-09", "2026-11-10", "2026-11-13"]),
      ...stocks(12, ["2026-11-11"], 0),
      ...stocks(3, ["2026-11-12"]),
    ];
    expect(await daysOf(bars)).toEqual(["2026-11-09", "2026-11-10", "2026-11-13"]);
  });

  test("are by the stocks before and after the bars of the index", async () => {
    const bars = [
      ...stocks(12, ["2026-11-09", "2026-11-11", "2026-11-12"]),
      ...index(["2026-11-12", "2026-11-13"]),
    ];
    expect(await daysOf(bars)).toEqual(["2026-11-09", "2026-11-11", "2026-11-12", "2026-11-13"]);
  });

  test("count the symbols that had begun to trade and had not ended", async () => {
    const bars = [
      ...stocks(12, ["2026-11-09", "2026-11-10"]),
      ...stocks(40, ["2026-11-11", "2026-11-13"], 100, 601_000),
    ];
    expect(await daysOf(bars)).toEqual(["2026-11-09", "2026-11-10", "2026-11-11", "2026-11-13"]);
  });

  test("too few symbols show no trading days", async () => {
    expect(await daysOf(stocks(3, ["2026-11-09", "2026-11-13"]))).toEqual([]);
  });

  test("of one region say nothing of another", async () => {
    expect(await daysOf(index(["2026-11-09", "2026-11-13"]), "HK")).toEqual([]);
  });

  test("are by the bars of files outside of the span of the index, in each region for itself", async () => {
    const [lake, session] = [temporaryLake(), await openSession()];
    const hongKong = (dates: readonly string[]): TestBar[] =>
      stocks(12, dates).map((bar) => ({ ...bar, symbol: (bar.symbol ?? "").replace(/^6(.*)SH$/, "$1HK") }));
    const days = async (): Promise<unknown> => {
      await landTradingDays(session, lake, OPTIONS);
      return Object.fromEntries(await readTradingDays(session, lake));
    };
    await land(session, lake, BARS_1D, [
      ...index(["2026-11-10", "2026-11-12"]),
      ...stocks(12, ["2026-11-11"]),
    ]);
    // The stocks of the trading days around have not landed: there is nothing to compare with.
    expect(await days()).toEqual({ CN: ["2026-11-10", "2026-11-12"] });
    await land(session, lake, BARS_1D, hongKong(["2026-11-11", "2026-11-13"]));
    expect(await days()).toEqual({ CN: ["2026-11-10", "2026-11-12"], HK: ["2026-11-11", "2026-11-13"] });
    await land(session, lake, BARS_1D, stocks(12, ["2026-11-09"]));
    expect(await days()).toMatchObject({ CN: ["2026-11-09", "2026-11-10", "2026-11-12"] });
  });

  test("the day that is not over yet is none, and landing them again changes nothing", async () => {
    const [lake, session] = [temporaryLake(), await openSession()];
    await land(session, lake, BARS_1D, index(["2026-11-19", "2026-11-20", "2026-11-23"]));
    const during = { ...OPTIONS, now: Date.parse("2026-11-20T11:00:00+08:00") };
    expect(await landTradingDays(session, lake, during)).toMatchObject({ inserted: 1 });
    expect(await landTradingDays(session, lake, OPTIONS)).toMatchObject({ inserted: 1, unchanged: 1 });
    expect(await landTradingDays(session, lake, OPTIONS)).toMatchObject({ inserted: 0, unchanged: 2 });
  });
});

describe("a trading day that the index lacks", () => {
  const USUAL = ["2026-10-12", "2026-10-14", "2026-10-16"];
  const HOLE = "2026-10-13";
  const after = (days: number) => ({ ...OPTIONS, now: T0 + days * DAY_MS });

  test("is found in a lake that an earlier version filled, by one search of all files", async () => {
    const [lake, session] = [temporaryLake(), await openSession()];
    await land(session, lake, BARS_1D, [...index(USUAL), ...stocks(12, [...USUAL, HOLE])]);
    await using known = new TempTable(session, "known_days");
    await known.fill(
      `SELECT 'CN' AS region, CAST(unnest(['${USUAL.join("', '")}']) AS DATE) AS trade_date, 'index' AS source`,
    );
    await upsert(session, lake, TRADING_DAYS, known.name, after(10));
    await land(session, lake, BARS_1D, index(["2026-11-20"]), after(20));
    expect(await landTradingDays(session, lake, after(20))).toMatchObject({ inserted: 2 });
    expect((await readTradingDays(session, lake)).get("CN")).toEqual([...USUAL, HOLE, "2026-11-20"].sort());
    // Bars in a file that seems to be as old as those that were searched.
    await land(session, lake, BARS_1D, stocks(12, ["2026-10-15"], 100, 601_000));
    await land(session, lake, BARS_1D, index(["2026-11-23"]), after(30));
    expect(await landTradingDays(session, lake, after(30))).toMatchObject({ inserted: 1 });
  });

  test("is found where the bars that it is compared with land later", async () => {
    const [lake, session] = [temporaryLake(), await openSession()];
    await land(session, lake, BARS_1D, [...index(USUAL), ...stocks(12, [HOLE])]);
    await landTradingDays(session, lake, after(5));
    expect((await readTradingDays(session, lake)).get("CN")).toEqual(USUAL);
    await land(session, lake, BARS_1D, stocks(12, USUAL), after(10));
    await landTradingDays(session, lake, after(10));
    expect((await readTradingDays(session, lake)).get("CN")).toEqual([...USUAL, HOLE].sort());
  });

  test("is searched for since the last search, which is recorded even where it found nothing", async () => {
    const [lake, session] = [temporaryLake(), await openSession()];
    const versionAfter = async (days: number): Promise<number> => {
      await landTradingDays(session, lake, after(days));
      return (await lake.snapshot(TRADING_DAYS)).version;
    };
    await land(session, lake, BARS_1D, stocks(3, USUAL));
    expect([await versionAfter(0), await versionAfter(10)]).toEqual([-1, -1]);
    await land(session, lake, BARS_1D, index(USUAL));
    expect([await versionAfter(10), await versionAfter(11)]).toEqual([0, 0]);
    expect([await versionAfter(20), await versionAfter(21)]).toEqual([1, 1]);
    // The clock is set back: files since then must not be left out for ever.
    expect([await versionAfter(12), await versionAfter(13)]).toEqual([2, 2]);
  });
});

import { describe, expect, test } from "vitest";
import { MINUTE_MS } from "../../../src/core/time.js";
import { REGIONS, type Region } from "../../../src/market/regions.js";
import { exchangeOf, regionOf } from "../../../src/market/symbol.js";
import { type Bar, barsOf, date, dateOf, MARKET, SYMBOLS } from "../sample-market.js";

const FROM = date("2026-10-26");
const TO = date("2026-11-20");

interface Day {
  readonly symbol: string;
  readonly region: Region;
  readonly midnight: number;
  readonly minutes: readonly Bar[];
}

/** Minutes by symbol and local date. */
function daysOf(minutes: readonly Bar[]): Map<string, Bar[]> {
  const days = new Map<string, Bar[]>();
  for (const bar of minutes) {
    const key = `${bar.symbol} ${dateOf(bar)}`;
    const day = days.get(key);
    if (day) day.push(bar);
    else days.set(key, [bar]);
  }
  return days;
}

const minutesByDay = daysOf(barsOf(MARKET.minuteBars(SYMBOLS, FROM, TO)));
const daily = barsOf(MARKET.dailyBars(SYMBOLS, FROM, TO));
const trading = daily.filter((bar) => bar.volume > 0);
const days = trading.map((bar): Day => {
  const region = regionOf(bar.symbol) as Region;
  const key = `${bar.symbol} ${dateOf(bar)}`;
  return { symbol: bar.symbol, region, midnight: bar.timestamp, minutes: minutesByDay.get(key) ?? [] };
});

describe("a day is its minutes", () => {
  test("every day that trades has minutes, and no other", () => {
    expect(days.length).toBeGreaterThan(4000);
    expect(minutesByDay.size).toBe(days.length);
    expect(daily.length).toBeGreaterThan(trading.length);
  });

  test("they aggregate to the daily bar exactly", () => {
    for (const [index, { minutes }] of days.entries()) {
      const day = trading[index] as Bar;
      expect({
        open: minutes[0]?.open,
        high: Math.max(...minutes.map((m) => m.high)),
        low: Math.min(...minutes.map((m) => m.low)),
        close: minutes.at(-1)?.close,
        volume: minutes.reduce((sum, m) => sum + m.volume, 0),
        amount: minutes.reduce((sum, m) => sum + m.amount, 0),
      }).toEqual({
        open: day.open,
        high: day.high,
        low: day.low,
        close: day.close,
        volume: day.volume,
        amount: day.amount,
      });
    }
  });

  test("so does a sum of doubles, rounded to cents", () => {
    const columns = MARKET.minuteBars(SYMBOLS.slice(0, 20), TO, TO);
    const sums = new Map<string, number>();
    for (let i = 0; i < columns.rows; i++) {
      const symbol = columns.symbols[columns.symbolIndex[i] as number] as string;
      sums.set(symbol, (sums.get(symbol) ?? 0) + (columns.doubles.amount.values[i] as number));
    }
    const day = MARKET.dailyBars(SYMBOLS.slice(0, 20), TO, TO);
    let compared = 0;
    for (let i = 0; i < day.rows; i++) {
      const sum = sums.get(day.symbols[day.symbolIndex[i] as number] as string);
      if (sum === undefined) continue;
      expect(Math.round(sum * 100) / 100).toBe(day.doubles.amount.values[i]);
      compared++;
    }
    expect(compared).toBeGreaterThan(15);
  });
});

describe("minute bars", () => {
  test.each([
    [
      "CN",
      [
        [571, 690],
        [781, 900],
      ],
    ],
    [
      "HK",
      [
        [571, 720],
        [781, 960],
      ],
    ],
    ["US", [[571, 960]]],
  ] as const)("of %s are labelled with the end of each minute of the session", (region, parts) => {
    const labels = parts.flatMap(([first, last]) =>
      Array.from({ length: last - first + 1 }, (_, i) => first + i),
    );
    let auctions = 0;
    const own = days.filter((day) => day.region === region);
    for (const { midnight, minutes } of own) {
      const minutesOfDay = minutes.map((m) => (m.timestamp - midnight) / MINUTE_MS);
      const auction = minutesOfDay[0] === 570;
      if (auction) auctions++;
      expect(auction ? minutesOfDay.slice(1) : minutesOfDay).toEqual(labels);
    }
    const [least, most] = region === "CN" ? [0.8, 0.99] : [0, 0];
    expect(auctions / own.length).toBeGreaterThanOrEqual(least);
    expect(auctions / own.length).toBeLessThanOrEqual(most);
  });

  test("open at 09:31 New York time on both sides of the change of clocks", () => {
    const [symbol] = SYMBOLS.filter((s) => exchangeOf(s) === "US");
    const first = (text: string): string =>
      new Date(
        barsOf(MARKET.minuteBars([symbol as string], date(text), date(text)))[0]?.timestamp ?? 0,
      ).toISOString();
    expect(first("2026-10-30")).toBe("2026-10-30T13:31:00.000Z");
    expect(first("2026-11-02")).toBe("2026-11-02T14:31:00.000Z");
  });

  test("have amounts within volume x lot x [low, high]; without trades they repeat the last price", () => {
    let [auctions, still] = [0, 0];
    for (const { region, midnight, minutes } of days) {
      const { lot } = REGIONS[region];
      for (const [i, m] of minutes.entries()) {
        const fits = m.amount * 10 >= m.volume * lot * m.low && m.amount * 10 <= m.volume * lot * m.high;
        const ordered =
          m.low <= Math.min(m.open, m.close) && Math.max(m.open, m.close) <= m.high && m.low > 0;
        if (!fits || !ordered || m.prevClose !== null) throw new Error(`bar is ${JSON.stringify(m)}`);
        if (m.volume === 0) {
          still++;
          if (m.low !== m.high || m.amount !== 0 || (i > 0 && m.open !== minutes[i - 1]?.close)) {
            throw new Error(`bar without trades is ${JSON.stringify(m)}`);
          }
        }
        if ((m.timestamp - midnight) / MINUTE_MS === 570) {
          auctions++;
          if (m.volume === 0 || m.low !== m.high) throw new Error(`auction bar is ${JSON.stringify(m)}`);
        }
      }
    }
    expect(auctions).toBeGreaterThan(1000);
    expect(still).toBeGreaterThan(1000);
  });

  test("remain at the limit once a day is sealed, and all day where it is locked", () => {
    let [sealed, locked] = [0, 0];
    for (const [index, { symbol, region, minutes }] of days.entries()) {
      const bar = trading[index] as Bar;
      const percent = MARKET.instruments.find((i) => i.symbol === symbol)?.board.limitPercent;
      if (region !== "CN" || percent === undefined || bar.prevClose === null) continue;
      const atLimit = bar.close === bar.high && bar.close >= bar.prevClose * (1 + percent / 100) - 6;
      if (!atLimit) continue;
      const flat = minutes.filter((m) => m.low === bar.close && m.high === bar.close).length;
      if (flat === minutes.length) locked++;
      else if (minutes.slice(-5).every((m) => m.low === bar.close)) sealed++;
    }
    expect(sealed).toBeGreaterThan(10);
    expect(locked).toBeGreaterThan(3);
  });

  test("move: most minutes of a busy stock end elsewhere than they began", () => {
    const busy = [...MARKET.instruments]
      .filter((i) => i.region === "CN")
      .sort((a, b) => b.turnover - a.turnover)[0];
    const bars = barsOf(MARKET.minuteBars([busy?.symbol as string], TO, TO));
    expect(bars.filter((m) => m.open !== m.close).length).toBeGreaterThan(bars.length / 3);
    expect(new Set(bars.map((m) => m.close)).size).toBeGreaterThan(10);
  });
});

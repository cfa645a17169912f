import { describe, expect, test } from "vitest";
import { REGIONS } from "../../../src/market/regions.js";
import { instantOf } from "../../../src/market/zone.js";
import {
  dayTick,
  highestTicks,
  hkTick,
  lowestTicks,
  type SimInstrument,
} from "../../../src/sim/instrument.js";
import { TRADING_DAYS_WITHOUT_LIMIT } from "../../../src/sim/prices/price-path.js";
import { barsOf, bySymbol, dateOf, END, MARKET, START, SYMBOLS } from "../sample-market.js";

const bars = bySymbol(barsOf(MARKET.dailyBars(SYMBOLS, START, END)));
const all = MARKET.instruments.flatMap((instrument) =>
  (bars.get(instrument.symbol) ?? []).map((bar, index, list) => ({ instrument, bar, index, list })),
);
const trading = all.filter(({ bar }) => bar.volume > 0);
const suspendedRows = all.filter(({ bar }) => bar.volume === 0);

function limits({ board }: SimInstrument, prev: number): [number, number] {
  const tick = dayTick(board, prev);
  return [lowestTicks(board, prev, tick, false) * tick, highestTicks(board, prev, tick, false) * tick];
}

/** Chinese days on which a limit holds. */
const ruled = trading.filter(
  ({ instrument, index }) =>
    instrument.region === "CN" && !(instrument.listed > START && index < TRADING_DAYS_WITHOUT_LIMIT),
);

describe("daily bars", () => {
  test.each(["CN", "HK", "US"] as const)(
    "of %s are labelled with the local midnight of a trading day",
    (region) => {
      const own = all.filter(({ instrument }) => instrument.region === region);
      const labels = new Set(own.map(({ bar }) => bar.timestamp));
      const midnights = MARKET.tradingDays(region).map((day) => instantOf(day, REGIONS[region].zone));
      expect(labels).toEqual(new Set(midnights));
    },
  );

  test("have low <= open, close <= high, and prices on the exchange's steps", () => {
    const wrong = trading.filter(({ instrument, bar }) => {
      const ordered = bar.low <= Math.min(bar.open, bar.close) && bar.high >= Math.max(bar.open, bar.close);
      const step = (price: number): number =>
        instrument.region === "HK" ? hkTick(price) : instrument.type === "etf" ? 1 : 10;
      const onStep = [bar.open, bar.high, bar.low, bar.close].every((price) => price % step(price) === 0);
      return !(ordered && onStep && bar.low > 0);
    });
    expect(wrong).toEqual([]);
  });

  test("have an amount within volume x lot x [low, high]", () => {
    const wrong = trading.filter(({ instrument, bar }) => {
      const shares = bar.volume * REGIONS[instrument.region].lot;
      const wholeLots = instrument.region !== "HK" || bar.volume % instrument.boardLot === 0;
      return !(wholeLots && bar.amount * 10 >= shares * bar.low && bar.amount * 10 <= shares * bar.high);
    });
    expect(wrong).toEqual([]);
    expect(trading.length).toBeGreaterThan(100_000);
  });

  test("start with the listing and end before the delisting", () => {
    const wrong = MARKET.instruments.filter(({ symbol, listed, delisted }) => {
      const dates = (bars.get(symbol) ?? []).map(dateOf);
      const late = delisted !== undefined && (dates.at(-1) as string) >= delisted;
      return late || (listed > START && dates[0] !== listed);
    });
    expect(wrong).toEqual([]);
  });

  test("continue: prev_close is the last close but for ex-dates, whose factor is stated", () => {
    const events = new Map(MARKET.exFactors(SYMBOLS, START, END).map((e) => [`${e.symbol} ${e.date}`, e]));
    let [dividends, splits] = [0, 0];
    for (const { bar, index, list } of all) {
      const before = list[index - 1];
      if (before === undefined) continue;
      const event = events.get(`${bar.symbol} ${dateOf(bar)}`);
      if ((bar.prevClose !== before.close) !== (event !== undefined))
        throw new Error(`jump in ${JSON.stringify(bar)}`);
      if (event === undefined) continue;
      expect(event.timestampMs).toBe(bar.timestamp);
      expect(event.factor).toBe(before.close / (bar.prevClose as number));
      if (event.factor > 1.15) splits++;
      else dividends++;
    }
    expect(dividends).toBeGreaterThan(200);
    expect(splits).toBeGreaterThan(20);
    expect(dividends + splits).toBe(events.size);
  });
});

describe("price limits", () => {
  test("hold on every day that has them", () => {
    const beyond = ruled.filter(({ instrument, bar }) => {
      const [down, up] = limits(instrument, bar.prevClose as number);
      return bar.high > up || bar.low < down;
    });
    expect(beyond).toEqual([]);
    expect(ruled.length).toBeGreaterThan(50_000);
  });

  test.each(["SH_MAIN", "SZ_MAIN", "SZ_GROWTH", "BJ"])(
    "%s closes at them, is locked at them, touches them",
    (id) => {
      const counts = { up: 0, down: 0, locked: 0, touched: 0 };
      for (const { instrument, bar } of ruled.filter((row) => row.instrument.board.id === id)) {
        const [down, up] = limits(instrument, bar.prevClose as number);
        if (bar.close === up) counts.up++;
        if (bar.close === down) counts.down++;
        if (bar.low === bar.high && (bar.close === up || bar.close === down)) counts.locked++;
        if (bar.high === up && bar.close < up) counts.touched++;
      }
      expect(counts.up).toBeGreaterThan(10);
      expect(counts.down).toBeGreaterThan(5);
      expect(counts.locked).toBeGreaterThan(3);
      expect(counts.touched).toBeGreaterThan(3);
    },
  );

  test("are off in a new listing's first days", () => {
    const beyond = trading.filter(({ instrument, bar, index }) => {
      const [down, up] = limits(instrument, bar.prevClose as number);
      const free =
        instrument.region === "CN" && instrument.listed > START && index < TRADING_DAYS_WITHOUT_LIMIT;
      return free && (bar.high > up || bar.low < down);
    });
    expect(beyond.length).toBeGreaterThan(0);
  });
});

describe("suspensions", () => {
  test("of one kind are rows of zeros that close at prev_close", () => {
    expect(suspendedRows.length).toBeGreaterThan(50);
    for (const { bar } of suspendedRows) {
      expect([bar.open, bar.high, bar.low, bar.volume, bar.amount]).toEqual([0, 0, 0, 0, 0]);
      expect(bar.close).toBe(bar.prevClose);
      expect(bar.close).toBeGreaterThan(0);
    }
  });

  test("of the other kind are days without a bar", () => {
    let absent = 0;
    for (const instrument of MARKET.instruments) {
      const days = MARKET.tradingDays(instrument.region).filter(
        (day) => day >= instrument.listed && (!instrument.delisted || day < instrument.delisted),
      );
      absent += days.length - (bars.get(instrument.symbol)?.length ?? 0);
    }
    expect(absent).toBeGreaterThan(50);
  });
});

test("volumes of trading days differ, and busy instruments trade more", () => {
  const busy = [...MARKET.instruments].sort((a, b) => b.turnover - a.turnover);
  const own = new Map(
    [...bars].map(([symbol, list]) => [symbol, list.reduce((n, bar) => n + bar.amount, 0)]),
  );
  const sum = (i: SimInstrument | undefined): number => own.get(i?.symbol as string) ?? 0;
  expect(sum(busy[0])).toBeGreaterThan(sum(busy.at(-1)) * 100);
  expect(new Set(trading.map(({ bar }) => bar.volume)).size).toBeGreaterThan(trading.length / 4);
});

import { beforeAll, describe, expect, test } from "vitest";
import { marketLake } from "../../dataset/market-lake.js";
import { pythonHas, runPython } from "../python.js";
import { isDrawn } from "./drawn-engines.js";

const FROM = "2025-06-02";
const SYMBOLS = ["000659.SZ", "300234.SZ", "600217.SH", "600339.SH"];
const RULE = { fast: 5, slow: 20, cash: 1_000_000, fees: 0.001, size: 1000 };
const FILL = { method: "forward", limit: 60 } as const;

interface Day {
  readonly open: number;
  readonly close: number;
}

/** How many orders were filled, and what cash and shares are worth at the last close. */
type Outcome = readonly [orders: number, value: number];

/** Where the fast average of the closes has crossed the slow one: 1 above, -1 below, else 0. */
function crossesOf(closes: readonly number[]): number[] {
  const average = (end: number, length: number): number =>
    closes.slice(end - length, end).reduce((sum, close) => sum + close, 0) / length;
  let side = 0;
  return closes.map((_, day) => {
    if (day + 1 < RULE.slow) return 0;
    const now = Math.sign(average(day + 1, RULE.fast) - average(day + 1, RULE.slow));
    const crossed = side !== 0 && now !== 0 && now !== side ? now : 0;
    if (now !== 0) side = now;
    return crossed;
  });
}

/** All the cash at the close of a cross. */
function atCloses(days: readonly Day[]): Outcome {
  let [cash, shares, orders] = [RULE.cash, 0, 0];
  for (const [day, cross] of crossesOf(days.map(({ close }) => close)).entries()) {
    const { close } = days[day] as Day;
    if (cross > 0 && shares === 0) {
      shares = cash / (close * (1 + RULE.fees));
      cash = 0;
      orders++;
    } else if (cross < 0 && shares > 0) {
      cash = shares * close * (1 - RULE.fees);
      shares = 0;
      orders++;
    }
  }
  return [orders, cash + shares * (days.at(-1) as Day).close];
}

/** A fixed number of shares at the open of the next day. */
function atNextOpens(days: readonly Day[]): Outcome {
  let [cash, shares, orders] = [RULE.cash, 0, 0];
  for (const [day, cross] of crossesOf(days.map(({ close }) => close)).entries()) {
    const next = days[day + 1];
    const trade = cross > 0 && shares === 0 ? RULE.size : cross < 0 ? -shares : 0;
    if (next === undefined || trade === 0) continue;
    cash -= trade * next.open + Math.abs(trade) * next.open * RULE.fees;
    shares += trade;
    orders++;
  }
  return [orders, cash + shares * (days.at(-1) as Day).close];
}

describe("a moving-average cross", () => {
  const its = marketLake();
  const days = new Map<string, Day[]>();
  beforeAll(async () => {
    const rows = await its.session.json<Day & { symbol: string }>(
      `SELECT symbol, coalesce(open, last) AS open, coalesce(close, last) AS close
       FROM (SELECT symbol, d.trade_date, open, close,
           last_value(close IGNORE NULLS) OVER (PARTITION BY symbol ORDER BY d.trade_date) AS last
         FROM raw.trading_days AS d CROSS JOIN (SELECT unnest([${SYMBOLS.map((symbol) => `'${symbol}'`).join()}]) AS symbol) AS s
         LEFT JOIN (SELECT symbol, trade_date, open, close FROM adjusted('1d', 'backward') WHERE shares > 0) AS a
           USING (symbol, trade_date)
         WHERE d.region = 'CN' AND d.trade_date >= DATE '${FROM}')
       ORDER BY symbol, trade_date`,
    );
    for (const { symbol, ...day } of rows) days.set(symbol, [...(days.get(symbol) ?? []), day]);
  });

  /** What comes of the rule by hand. */
  function byHand(outcome: (days: readonly Day[]) => Outcome): Record<string, Outcome> {
    return Object.fromEntries(SYMBOLS.map((symbol) => [symbol, outcome(days.get(symbol) ?? [])]));
  }

  /** Outcomes with nine digits of their values: sums are taken in another order. */
  function rounded(outcomes: unknown): Record<string, Outcome> {
    const entries = Object.entries(outcomes as Record<string, Outcome>);
    return Object.fromEntries(
      entries.map(([symbol, [orders, value]]) => [symbol, [orders, Number(value.toPrecision(9))]]),
    );
  }

  test("trades, by hand", () => {
    for (const outcomes of [byHand(atCloses), byHand(atNextOpens)])
      expect(Object.values(outcomes).every(([orders]) => orders > 5)).toBe(true);
  });

  test.runIf(isDrawn("vectorbt") && pythonHas("vectorbt", "pyarrow"))(
    "in vectorbt on wide closes is worth what it is by hand",
    async () => {
      const folder = await its.build({
        name: "wide",
        format: "wide-parquet",
        universe: SYMBOLS,
        from: FROM,
        fill: FILL,
      });
      const found = runPython("datasets/backtest_crosses.py", "vectorbt", folder, JSON.stringify(RULE));
      expect(rounded(found)).toEqual(rounded(byHand(atCloses)));
    },
  );

  test.runIf(isDrawn("backtrader") && pythonHas("backtrader", "pandas"))(
    "in backtrader on its CSV is worth what it is by hand",
    async () => {
      const folder = await its.build({
        name: "feeds",
        format: "backtrader",
        universe: SYMBOLS,
        from: FROM,
        fill: FILL,
      });
      const found = runPython("datasets/backtest_crosses.py", "backtrader", folder, JSON.stringify(RULE));
      expect(rounded(found)).toEqual(rounded(byHand(atNextOpens)));
    },
  );

  test.runIf(isDrawn("backtrader") && pythonHas("backtrader"))(
    "backtrader reads closes as traded, and adjusted ones next to them",
    async () => {
      const folder = await its.build({
        name: "traded",
        format: "backtrader",
        universe: SYMBOLS,
        from: FROM,
        adjustment: "none",
      });
      type Row = readonly [date: string, traded: number | null, adjusted: number | null];
      const found = runPython("datasets/read_backtrader.py", folder) as Record<string, readonly Row[]>;
      const rows = await its.session.json<{ symbol: string; date: string; traded: number; adjusted: number }>(
        `SELECT symbol, trade_date::VARCHAR AS date, b.close AS traded, a.close AS adjusted
         FROM bars_1d AS b JOIN adjusted('1d', 'backward') AS a USING (symbol, trade_date)
         WHERE symbol IN (${SYMBOLS.map((symbol) => `'${symbol}'`).join()}) AND trade_date >= DATE '${FROM}' AND b.shares > 0
         ORDER BY symbol, trade_date`,
      );
      const closes = Object.entries(found).flatMap(([symbol, read]) =>
        read.flatMap(([date, traded, adjusted]) =>
          traded === null ? [] : [{ symbol, date, traded, adjusted }],
        ),
      );
      expect(closes).toEqual(
        rows.map((row) => ({ ...row, adjusted: expect.closeTo(row.adjusted, 9) as number })),
      );
      expect(rows.some(({ traded, adjusted }) => adjusted > traded * 1.5)).toBe(true);
    },
  );
});

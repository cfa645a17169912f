import type { Session } from "../../src/db/session/session.js";
import type { KlineColumns } from "../../src/wire/kline-columns.js";
import type { Outcome } from "./benchmark.js";

type Checks = Outcome["checks"];

const DAY_MS = 86_400_000;

/** A bar as numbers; the timestamp in epoch milliseconds. */
export interface BarNumbers {
  readonly timestamp: ArrayLike<number | bigint>;
  readonly open: ArrayLike<number>;
  readonly high: ArrayLike<number>;
  readonly low: ArrayLike<number>;
  readonly close: ArrayLike<number>;
  readonly volume: ArrayLike<number | bigint>;
  readonly amount: ArrayLike<number>;
}

/** Counts and sums of bars; `turnover` and `clock` are sums of products, so that values in a wrong row are detected. */
export function barChecks(symbols: number, bars: BarNumbers): Checks {
  const sums = { volume: 0, amount: 0, prices: 0, turnover: 0, clock: 0 };
  const rows = bars.close.length;
  for (let i = 0; i < rows; i++) {
    const [open, high, low, close] = [bars.open[i], bars.high[i], bars.low[i], bars.close[i]] as number[] as [
      number,
      number,
      number,
      number,
    ];
    const volume = Number(bars.volume[i]);
    sums.volume += volume;
    sums.amount += bars.amount[i] as number;
    sums.prices += open + high + low + close;
    sums.turnover += close * volume;
    sums.clock += close * (Number(bars.timestamp[i]) % DAY_MS);
  }
  return { symbols, rows, ...sums };
}

/** {@link barChecks} of decoded columns. */
export function columnChecks({ symbols, timestamp, volume, doubles }: KlineColumns): Checks {
  const { open, high, low, close, amount } = doubles;
  return barChecks(symbols.length, {
    timestamp,
    volume,
    open: open.values,
    high: high.values,
    low: low.values,
    close: close.values,
    amount: amount.values,
  });
}

/** The query for {@link barChecks} of the bars of a table expression; its result is one row. */
export function checksSql(from: string): string {
  return `SELECT count(*)::DOUBLE AS symbols, sum(rows)::DOUBLE AS rows, sum(volume) AS volume, sum(amount) AS amount,
      sum(prices) AS prices, sum(turnover) AS turnover, sum(clock) AS clock
    FROM (SELECT symbol, count(*) AS rows, sum(volume)::DOUBLE AS volume, sum(amount) AS amount,
        sum(open + high + low + close) AS prices, sum(close * volume) AS turnover,
        sum(close * (epoch_ms(CAST(timestamp AS TIMESTAMP)) % ${DAY_MS})) AS clock
      FROM ${from} GROUP BY symbol)`;
}

/** {@link barChecks} of the bars of a table expression. */
export async function sqlChecks(session: Session, from: string): Promise<Checks> {
  const [checks] = await session.json<Checks>(checksSql(from));
  return checks ?? {};
}

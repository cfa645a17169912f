import type { KlineColumns } from "../../wire/kline-columns.js";

/** One bar as an object: for the few that a quote is made of. */
export interface LastBar {
  readonly timestamp: number;
  readonly open: number;
  readonly high: number;
  readonly low: number;
  readonly close: number;
  readonly volume: number;
  readonly amount: number;
  readonly prevClose: number | null;
}

/** The bars of each symbol, ascending. Volumes above 2^53 lose their last digits. */
export function lastBars(columns: KlineColumns): Map<string, LastBar[]> {
  const { doubles } = columns;
  const bars = new Map<string, LastBar[]>();
  for (let row = 0; row < columns.rows; row++) {
    const symbol = columns.symbols[columns.symbolIndex[row] as number] as string;
    const { values, validity } = doubles.prev_close;
    const hasPrevClose = validity === undefined || ((validity[row >> 3] as number) & (1 << (row & 7))) !== 0;
    const bar: LastBar = {
      timestamp: Number(columns.timestamp[row]),
      open: doubles.open.values[row] as number,
      high: doubles.high.values[row] as number,
      low: doubles.low.values[row] as number,
      close: doubles.close.values[row] as number,
      volume: Number(columns.volume[row]),
      amount: doubles.amount.values[row] as number,
      prevClose: hasPrevClose ? (values[row] as number) : null,
    };
    const list = bars.get(symbol);
    if (list === undefined) bars.set(symbol, [bar]);
    else list.push(bar);
  }
  return bars;
}

import { createHash } from "node:crypto";
import type { TradingDate } from "../../src/core/time.js";
import { REGIONS, type Region } from "../../src/market/regions.js";
import { regionOf } from "../../src/market/symbol.js";
import { localDate } from "../../src/market/zone.js";
import { simulateMarket } from "../../src/sim/market.js";
import type { KlineColumns } from "../../src/wire/kline-columns.js";

/** A text as a date, unchecked. */
export const date = (text: string): TradingDate => text as TradingDate;

export const END = date("2026-11-20");
export const SPEC = { seed: 20261120, symbols: 300, days: 520, end: END };

/** A market in which everything that the simulation knows of occurs. */
export const MARKET = simulateMarket(SPEC);
export const START = MARKET.tradingDays("CN")[0] as TradingDate;
export const SYMBOLS = MARKET.instruments.map((instrument) => instrument.symbol);

/** One bar, in whole numbers: prices in thousandths of the currency, the amount in cents. */
export interface Bar {
  readonly symbol: string;
  readonly timestamp: number;
  readonly open: number;
  readonly high: number;
  readonly low: number;
  readonly close: number;
  readonly volume: number;
  readonly amount: number;
  readonly prevClose: number | null;
}

/** The rows of columns; throws where a price is not the double nearest to a number of thousandths, or cents. */
export function barsOf(columns: KlineColumns): Bar[] {
  const { doubles, rows } = columns;
  const bars: Bar[] = [];
  for (let i = 0; i < rows; i++) {
    const validity = doubles.prev_close.validity;
    const known = validity === undefined || ((validity[i >> 3] as number) & (1 << (i & 7))) !== 0;
    bars.push({
      symbol: columns.symbols[columns.symbolIndex[i] as number] as string,
      timestamp: Number(columns.timestamp[i]),
      open: whole(doubles.open.values[i], 1000),
      high: whole(doubles.high.values[i], 1000),
      low: whole(doubles.low.values[i], 1000),
      close: whole(doubles.close.values[i], 1000),
      volume: Number(columns.volume[i]),
      amount: whole(doubles.amount.values[i], 100),
      prevClose: known ? whole(doubles.prev_close.values[i], 1000) : null,
    });
  }
  return bars;
}

const dates: Partial<Record<Region, Map<number, TradingDate>>> = {};

/** The exchange's own date of a bar; remembered by region and hour, since zone arithmetic is slow. */
export function dateOf(bar: Bar): TradingDate {
  const region = regionOf(bar.symbol) as Region;
  dates[region] ??= new Map();
  const hour = Math.floor(bar.timestamp / 3_600_000);
  const found = dates[region].get(hour) ?? localDate(bar.timestamp, REGIONS[region].zone);
  dates[region].set(hour, found);
  return found;
}

/** A digest of each array of columns, for comparing whole markets. */
export function bytesOf(columns: KlineColumns): Record<string, string> {
  const bytes: Record<string, string> = {
    symbols: columns.symbols.join(),
    symbolIndex: hex(columns.symbolIndex),
    timestamp: hex(columns.timestamp),
    volume: hex(columns.volume),
  };
  for (const [name, { values, validity }] of Object.entries(columns.doubles)) {
    bytes[name] = hex(values) + (validity ? hex(validity) : "");
  }
  return bytes;
}

function hex({ buffer, byteOffset, byteLength }: ArrayBufferView): string {
  return createHash("sha256")
    .update(Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength))
    .digest("hex");
}

/** Bars by symbol, in their order. */
export function bySymbol(bars: readonly Bar[]): Map<string, Bar[]> {
  const groups = new Map<string, Bar[]>();
  for (const bar of bars) {
    const group = groups.get(bar.symbol);
    if (group) group.push(bar);
    else groups.set(bar.symbol, [bar]);
  }
  return groups;
}

function whole(value: number | undefined, scale: number): number {
  const scaled = Math.round((value as number) * scale);
  if (scaled / scale !== value) throw new Error(`${value} is not a multiple of 1/${scale}`);
  return scaled;
}

import type { TradingDate } from "../src/core/time.js";
import { simulateMarket } from "../src/sim/market.js";
import { encodeKlines } from "../src/wire/encode/encode-klines.js";
import { DOUBLE_COLUMNS, type KlineColumns, type NumberColumn } from "../src/wire/kline-columns.js";
import type { Size } from "./measure/benchmark.js";

/** The last day of every simulated market here. */
export const LAST_DAY = "2026-03-31" as TradingDate;

/** Fewest minutes of a Chinese trading day. */
const MINUTES_A_DAY = 240;

/** Bytes of a piece of a body, as sockets deliver them. */
const CHUNK_BYTES = 65_536;

/** The number of bars to create. */
export interface BarsSpec {
  readonly symbols: number;
  readonly barsPerSymbol: number;
  /** Symbols of one batch. @default all */
  readonly symbolsPerBatch?: number;
}

/** A K-line response: its bytes, and the bars in it. */
export interface KlineBody {
  readonly columns: KlineColumns;
  readonly bytes: Uint8Array;
}

/** The response to one full request: 100 symbols with 5,000 one-minute bars each. */
export function klineBody(size: Size): KlineBody {
  const spec = size === "full" ? { symbols: 100, barsPerSymbol: 5000 } : { symbols: 10, barsPerSymbol: 480 };
  const [columns] = simulatedBars(spec);
  if (columns === undefined) throw new TypeError("no bars were made");
  return { columns, bytes: encodeKlines(columns, "map") };
}

/** The response to a request for the newest bar of each symbol of a market: 5,000 symbols. */
export function shortBody(size: Size): KlineBody {
  const [columns] = simulatedBars({ symbols: size === "full" ? 5000 : 50, barsPerSymbol: 1 });
  if (columns === undefined) throw new TypeError("no bars were made");
  return { columns, bytes: encodeKlines(columns, "map") };
}

/** A body as it arrives. */
export function* chunksOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}

/** One-minute bars of a simulated Chinese market, the same in every run; every symbol has the same number. */
export function simulatedBars({
  symbols,
  barsPerSymbol,
  symbolsPerBatch = symbols,
}: BarsSpec): KlineColumns[] {
  const days = Math.ceil(barsPerSymbol / MINUTES_A_DAY);
  const market = simulateMarket({ seed: 7, symbols: symbols * 2 + 20, days: days + 20, end: LAST_DAY });
  const [first = LAST_DAY] = market.tradingDays("CN").slice(-days);
  const traded = market.instruments.filter(
    ({ region, delisted, listed }) => region === "CN" && delisted === undefined && listed < first,
  );
  const batches: KlineColumns[] = [];
  let candidates = traded.map((instrument) => instrument.symbol);
  for (let missing = symbols; missing > 0; missing -= symbolsPerBatch) {
    const target = Math.min(symbolsPerBatch, missing);
    const whole: string[] = [];
    while (whole.length < target) {
      const group = candidates.slice(0, target - whole.length);
      if (group.length === 0)
        throw new RangeError(`the market has fewer than ${symbols} symbols that trade each day`);
      candidates = candidates.slice(group.length);
      whole.push(...symbolsWith(market.minuteBars(group, first, LAST_DAY), barsPerSymbol));
    }
    batches.push(newestBars(market.minuteBars(whole, first, LAST_DAY), barsPerSymbol));
  }
  return batches;
}

/** The symbols with at least this number of bars: a suspended symbol has fewer. */
function symbolsWith({ symbols, symbolIndex }: KlineColumns, bars: number): string[] {
  const counts = new Uint32Array(symbols.length);
  for (const index of symbolIndex) counts[index] = (counts[index] as number) + 1;
  return symbols.filter((_, index) => (counts[index] as number) >= bars);
}

/** The newest `count` bars of each symbol. */
function newestBars(columns: KlineColumns, count: number): KlineColumns {
  const { symbols, symbolIndex } = columns;
  const starts = symbols.map((_, index) => symbolIndex.lastIndexOf(index) + 1 - count);
  return pickBars(columns, starts, count);
}

/** Cuts columns with equally many bars per symbol into windows of `count` bars of each symbol; the oldest first. */
export function windowsOf(columns: KlineColumns, count: number): KlineColumns[] {
  const barsPerSymbol = columns.rows / columns.symbols.length;
  return Array.from({ length: barsPerSymbol / count }, (_, window) => {
    const starts = columns.symbols.map((_symbol, index) => index * barsPerSymbol + window * count);
    return pickBars(columns, starts, count);
  });
}

/** `count` bars of each symbol, from the row that `starts` gives. */
function pickBars(columns: KlineColumns, starts: readonly number[], count: number): KlineColumns {
  const { symbols, symbolIndex } = columns;
  const pick = <T extends Float64Array | BigInt64Array | Int32Array>(from: T, to: T): T => {
    for (const [index, start] of starts.entries())
      to.set(from.subarray(start, start + count) as never, index * count);
    return to;
  };
  const rows = symbols.length * count;
  const doubles = DOUBLE_COLUMNS.map((name): [string, NumberColumn] => {
    const { values, validity } = columns.doubles[name];
    return [
      name,
      { values: pick(values, new Float64Array(rows)), validity: validity?.slice(0, Math.ceil(rows / 8)) },
    ];
  });
  return {
    rows,
    symbols,
    symbolIndex: pick(symbolIndex, new Int32Array(rows)),
    timestamp: pick(columns.timestamp, new BigInt64Array(rows)),
    volume: pick(columns.volume, new BigInt64Array(rows)),
    doubles: Object.fromEntries(doubles) as KlineColumns["doubles"],
  };
}

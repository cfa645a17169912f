import { dayTick, highestTicks, lowestTicks, type SimInstrument } from "../instrument.js";
import { DAY_KIND, dayKeyOf, isSuspended, type PricePath } from "../prices/price-path.js";
import { bell, uniform } from "../random.js";
import type { RegionCalendar } from "../trading-days.js";

/**
 * A day in whole numbers: all values of its daily bar, to which its minutes must aggregate. Prices are in steps of
 * `tickMilli`, volumes in lots ({@link SimInstrument.boardLot}), amounts in steps x lots, so that sums and comparisons
 * are exact. One object is used for all days of a call.
 */
export interface DayShape {
  kind: number;
  key: number;
  /** Size of a price step, in thousandths of the currency. */
  tickMilli: number;
  referenceMilli: number;
  open: number;
  high: number;
  low: number;
  close: number;
  volume: number;
  amount: number;
  /** After the fraction `turn1Volume` of the day's volume the price is `turn1Price`, an extreme; so of 2. */
  turn1Volume: number;
  turn1Price: number;
  turn2Volume: number;
  turn2Price: number;
  /** Whether the price does not change after the second turning point. */
  sealed: boolean;
  /** Whether the day has a bar of the opening auction, if the region has such bars. */
  auction: boolean;
}

/** Lots: the minutes with the open, high, low and close need one each, and a few are left for the others. */
const MIN_VOLUME = 12;
const MAX_VOLUME = 2_000_000_000;

export function emptyShape(): DayShape {
  return {
    kind: 0,
    key: 0,
    tickMilli: 1,
    referenceMilli: 0,
    open: 0,
    high: 0,
    low: 0,
    close: 0,
    volume: 0,
    amount: 0,
    turn1Volume: 0.5,
    turn1Price: 0,
    turn2Volume: 0.5,
    turn2Price: 0,
    sealed: false,
    auction: false,
  };
}

/** Computes the shape of an instrument's day only from its path and the day's key. A suspended day has no volume. */
export function shapeDay(
  shape: DayShape,
  instrument: SimInstrument,
  path: PricePath,
  calendar: RegionCalendar,
  dayIndex: number,
): void {
  const at = dayIndex - instrument.start;
  const prevMilli = path.reference[at] as number;
  const tick = dayTick(instrument.board, prevMilli);
  shape.kind = path.kind[at] as number;
  shape.key = dayKeyOf(instrument, calendar, dayIndex);
  shape.referenceMilli = prevMilli;
  shape.tickMilli = tick;
  shape.close = (path.close[at] as number) / tick;
  shape.auction = hasAuction(shape.key);
  if (isSuspended(shape.kind)) {
    shape.open = shape.high = shape.low = shape.volume = shape.amount = 0;
    return;
  }
  const free = at < path.freeDays;
  const highest = highestTicks(instrument.board, prevMilli, tick, free);
  const lowest = Math.max(1, lowestTicks(instrument.board, prevMilli, tick, free));
  shapePrices(shape, prevMilli / tick, lowest, highest);
  shapeTurns(shape);
  shapeVolume(shape, instrument, prevMilli);
}

/** Whether a day has a bar of the opening auction, as most days do. */
export function hasAuction(dayKey: number): boolean {
  return uniform(dayKey, 30) < 0.92;
}

function shapePrices(shape: DayShape, prev: number, lowest: number, highest: number): void {
  const { key, kind, close } = shape;
  if (kind === DAY_KIND.lockedUp || kind === DAY_KIND.lockedDown) {
    shape.open = shape.high = shape.low = close;
    return;
  }
  const gap = (close - prev) * (0.1 + 0.4 * uniform(key, 31)) + prev * 0.003 * bell(key, 32);
  const open = Math.min(highest, Math.max(lowest, Math.round(prev + gap)));
  const reach = prev * 0.012;
  const high = Math.max(open, close) + Math.round(reach * uniform(key, 33) ** 2);
  const low = Math.min(open, close) - Math.round(reach * uniform(key, 34) ** 2);
  shape.open = open;
  shape.high = kind === DAY_KIND.sealedUp || kind === DAY_KIND.touchedUp ? highest : Math.min(high, highest);
  shape.low = kind === DAY_KIND.sealedDown || kind === DAY_KIND.touchedDown ? lowest : Math.max(low, lowest);
}

function shapeTurns(shape: DayShape): void {
  const { key, kind, open, close, high, low } = shape;
  shape.sealed = kind === DAY_KIND.sealedUp || kind === DAY_KIND.sealedDown;
  const lowFirst = shape.sealed ? kind === DAY_KIND.sealedUp : close > open === uniform(key, 35) < 0.8;
  shape.turn1Price = lowFirst ? low : high;
  shape.turn2Price = lowFirst ? high : low;
  shape.turn1Volume = 0.05 + 0.4 * uniform(key, 36);
  shape.turn2Volume = shape.turn1Volume + (0.95 - shape.turn1Volume) * (0.1 + 0.9 * uniform(key, 37));
}

function shapeVolume(shape: DayShape, instrument: SimInstrument, prevMilli: number): void {
  const { key, kind, turn1Volume, turn2Volume, turn1Price, turn2Price } = shape;
  const move = Math.abs((shape.close * shape.tickMilli) / prevMilli - 1);
  const locked = shape.high === shape.low && kind !== DAY_KIND.ordinary;
  const turnover = instrument.turnover * Math.exp(0.4 * bell(key, 38)) * (1 + 8 * move) * (locked ? 0.04 : 1);
  const lots = Math.round((turnover * 1000) / (prevMilli * instrument.boardLot));
  shape.volume = Math.min(MAX_VOLUME, Math.max(MIN_VOLUME, lots));
  // The volume-weighted average of the straight lines through the turning points, which the minutes follow.
  const average =
    (turn1Volume * (shape.open + turn1Price) +
      (turn2Volume - turn1Volume) * (turn1Price + turn2Price) +
      (1 - turn2Volume) * (turn2Price + shape.close)) /
    2;
  const amount = Math.round(average * shape.volume);
  shape.amount = Math.min(shape.high * shape.volume, Math.max(shape.low * shape.volume, amount));
}

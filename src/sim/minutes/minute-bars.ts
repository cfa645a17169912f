import { setInt64 } from "../../core/bits.js";
import { MINUTE_MS } from "../../core/time.js";
import { REGIONS, type Region } from "../../market/regions.js";
import { SESSION_HOURS } from "../../market/sessions.js";
import type { SimInstrument } from "../instrument.js";
import type { MarketState } from "../market-state.js";
import type { BarMaker, KlineWriter } from "../prices/daily-bars.js";
import { dayKeyOf, isSuspended } from "../prices/price-path.js";
import { type DayShape, hasAuction } from "./day-shape.js";

interface SessionMinutes {
  /** In minutes after local midnight: the END of each minute. In CN the first one is that of the auction, 09:30. */
  readonly labels: Int16Array;
  /** Usual weight of each bar in the volume of the day, on an arbitrary scale. */
  readonly weights: Float64Array;
  /** 1 where the first bar is that of an opening auction, which a day may lack; 0 otherwise. */
  readonly auctionBars: 0 | 1;
}

export const SESSION_MINUTES: Readonly<Record<Region, SessionMinutes>> = {
  CN: sessionOf("CN", 1),
  HK: sessionOf("HK", 0),
  US: sessionOf("US", 0),
};

function sessionOf(region: Region, auctionBars: 0 | 1): SessionMinutes {
  const labels: number[] = [];
  for (const [open, close] of SESSION_HOURS[region].parts) {
    if (labels.length === 0 && auctionBars === 1) labels.push(open);
    for (let minute = open + 1; minute <= close; minute++) labels.push(minute);
  }
  const weights = Float64Array.from(labels, (_, i) => {
    const x = i / (labels.length - 1);
    return 0.6 + 2.6 * Math.exp(-14 * x) + 1.2 * Math.exp(-10 * (1 - x));
  });
  if (region === "CN") {
    // From 14:57 orders wait for the closing auction at 15:00, so the minutes in between have no trades.
    weights[labels.length - 3] = 0;
    weights[labels.length - 2] = 0;
    weights[labels.length - 1] = 4;
  }
  return { labels: Int16Array.from(labels), weights, auctionBars };
}

/** The bars of one day, in the units of `DayShape`. The buffer is created once and filled again for every day. */
interface MinuteBuffer {
  readonly open: Int32Array;
  readonly high: Int32Array;
  readonly low: Int32Array;
  readonly close: Int32Array;
  readonly volume: Float64Array;
  readonly amount: Float64Array;
  /** Working memory: random bits, and the sum of the weights up to each bar. */
  readonly bits: Int32Array;
  readonly sums: Float64Array;
}

export function minuteBuffer(bars: number): MinuteBuffer {
  return {
    open: new Int32Array(bars),
    high: new Int32Array(bars),
    low: new Int32Array(bars),
    close: new Int32Array(bars),
    volume: new Float64Array(bars),
    amount: new Float64Array(bars),
    bits: new Int32Array(bars),
    sums: new Float64Array(bars),
  };
}

/** Indexes of a day's bars. Each is the index of the first bar of the next kind. */
interface BarBounds {
  readonly first: number;
  /** The first bar that is not the bar of the opening auction. */
  readonly priced: number;
  /** The first bar after the price was sealed at a limit; `end` if it was not. */
  readonly sealed: number;
  readonly end: number;
}

/**
 * Gives every bar an amount between volume x low and volume x high, which add up exactly to the day's amount. Where the
 * ranges are too narrow, highs or lows are widened, step by step and never beyond the extremes of the day: first those
 * of ordinary bars, then of sealed ones, then of the auction's bar. This is always sufficient, because the day's amount
 * is between its volume x low and its volume x high.
 */
function fitAmounts(day: DayShape, out: MinuteBuffer, bounds: BarBounds): void {
  const { high, low, volume, amount } = out;
  const { first, end } = bounds;
  let least = 0;
  let most = 0;
  for (let i = first; i < end; i++) {
    least += (low[i] as number) * (volume[i] as number);
    most += (high[i] as number) * (volume[i] as number);
  }
  if (day.amount > most) {
    most += widen(out, high, day.high, 1, day.amount - most, bounds);
  } else if (day.amount < least) {
    least -= widen(out, low, day.low, -1, least - day.amount, bounds);
  }
  const target = day.amount - least;
  const part = most > least ? target / (most - least) : 0;
  let capacity = 0;
  let given = 0;
  for (let i = first; i < end; i++) {
    const lots = volume[i] as number;
    const bottom = (low[i] as number) * lots;
    const slack = (high[i] as number) * lots - bottom;
    capacity += slack;
    const upTo = Math.min(target, Math.floor(part * capacity));
    const more = Math.min(slack, upTo - given);
    given += more;
    amount[i] = bottom + more;
  }
  // Because of rounding, the floor of the last product can be less than the whole amount.
  for (let i = first; given < target && i < end; i++) {
    const more = Math.min(
      target - given,
      (high[i] as number) * (volume[i] as number) - (amount[i] as number),
    );
    amount[i] = (amount[i] as number) + more;
    given += more;
  }
}

/** Widens one side of the bars until this adds `missing`, or all bars are at `limit`. @returns what was added. */
function widen(
  out: MinuteBuffer,
  side: Int32Array,
  limit: number,
  sign: 1 | -1,
  missing: number,
  { first, priced, sealed, end }: BarBounds,
): number {
  let gained = 0;
  for (const [from, to] of [
    [priced, sealed],
    [sealed, end],
    [first, priced],
  ] as const) {
    for (let step = 1, moved = true; moved && gained < missing; step *= 2) {
      moved = false;
      for (let i = from; i < to && gained < missing; i++) {
        const lots = out.volume[i] as number;
        const price = side[i] as number;
        const reach = Math.min(step, (limit - price) * sign, Math.ceil((missing - gained) / (lots || 1)));
        if (lots === 0 || reach <= 0) continue;
        side[i] = price + sign * reach;
        gained += reach * lots;
        moved = true;
      }
    }
  }
  return gained;
}

/**
 * Fills a buffer with the minutes of a trading day, which aggregate exactly to the day: open of the first, highest high,
 * lowest low, close of the last, sums of volume and amount. Every amount is between volume x low and volume x high of its
 * bar. A minute without trades repeats the last price. `day.volume` is at least 4. The last bar has the last label.
 *
 * @returns the index of the first bar: 1 where the day lacks the bar of the auction, else 0.
 */
export function bridgeMinutes(day: DayShape, session: SessionMinutes, out: MinuteBuffer): number {
  const bars = session.labels.length;
  const auction = session.auctionBars === 1 && day.auction;
  const first = session.auctionBars === 1 && !auction ? 1 : 0;
  const total = drawWeights(day.key, session.weights, first, out);
  const { sums } = out;
  let turn1 = auction ? first + 1 : first;
  while (turn1 < bars - 1 && (sums[turn1] as number) < day.turn1Volume * total) turn1++;
  let turn2 = turn1;
  while (turn2 < bars - 1 && (sums[turn2] as number) < day.turn2Volume * total) turn2++;
  const priced = auction ? first + 1 : first;
  const bounds = { first, priced, sealed: day.sealed ? turn2 + 1 : bars, end: bars };
  splitVolume(day.volume, total, bounds, turn1, turn2, out);
  drawPrices(day, bounds, out);
  touch(turn1, day.turn1Price, out);
  touch(turn2, day.turn2Price, out);
  fitAmounts(day, out, bounds);
  return first;
}

/** Draws random bits and a weight for each bar. Returns the sum of the weights. */
function drawWeights(key: number, weights: Float64Array, first: number, out: MinuteBuffer): number {
  const { bits, sums } = out;
  let state = key;
  let sum = 0;
  for (let i = first; i < weights.length; i++) {
    // mulberry32, inlined: this loop and the next ones run once for every bar of the market.
    state = (state + 0x6d2b79f5) | 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    x ^= x >>> 14;
    bits[i] = x;
    const part = (x >>> 20) / 4096;
    sum += (weights[i] as number) * (0.15 + 2.5 * part * part);
    sums[i] = sum;
  }
  return sum;
}

/** Splits the day's volume by the weights. The first bar, the last bar and both turning bars get at least one lot. */
function splitVolume(
  volume: number,
  total: number,
  { first, end }: BarBounds,
  turn1: number,
  turn2: number,
  out: MinuteBuffer,
): void {
  const { sums, volume: volumes } = out;
  const free = volume - 4;
  const scale = free / total;
  let given = 0;
  for (let i = first; i < end - 1; i++) {
    const upTo = Math.min(free, Math.floor((sums[i] as number) * scale));
    volumes[i] = upTo - given;
    given = upTo;
  }
  volumes[end - 1] = free - given + 1;
  volumes[first] = (volumes[first] as number) + 1;
  volumes[turn1] = (volumes[turn1] as number) + 1;
  volumes[turn2] = (volumes[turn2] as number) + 1;
}

/** Draws prices around straight lines, over the volume, from the open through the turning points to the close. */
function drawPrices(day: DayShape, { first, priced, end }: BarBounds, out: MinuteBuffer): void {
  const { open, high, low, close, volume, bits } = out;
  const { high: highest, low: lowest } = day;
  const range = highest - lowest;
  const wick = (range * 0.05) / 256;
  const part = 1 / day.volume;
  let from = day.open;
  let fromPart = 0;
  let toPart = day.turn1Volume;
  let slope = (day.turn1Price - from) / toPart;
  let swing = (range * 0.05) / 32768;
  let segment = 0;
  let noise = 0;
  let traded = 0;
  let last = day.open;
  for (let i = first; i < end; i++) {
    const lots = volume[i] as number;
    if (lots === 0 || i < priced) {
      open[i] = high[i] = low[i] = close[i] = last;
      traded += lots;
      continue;
    }
    const x = bits[i] as number;
    const middle = (traded + lots * 0.5) * part;
    traded += lots;
    while (segment < 2 && middle > toPart) {
      segment++;
      fromPart = toPart;
      from = segment === 1 ? day.turn1Price : day.turn2Price;
      toPart = segment === 1 ? day.turn2Volume : 1;
      slope = ((segment === 1 ? day.turn2Price : day.close) - from) / (toPart - fromPart);
      if (segment === 2 && day.sealed) swing = noise = 0;
    }
    noise = noise * 0.85 + ((x & 0xffff) - 32768) * swing;
    let c = Math.floor(from + slope * (middle - fromPart) + noise + 0.5);
    c = c > highest ? highest : c < lowest ? lowest : c;
    let o =
      i === first
        ? last
        : last + (swing === 0 ? 0 : ((x >>> 16) & 3) === 0 ? 1 : ((x >>> 16) & 3) === 1 ? -1 : 0);
    o = o > highest ? highest : o < lowest ? lowest : o;
    if (i === end - 1) c = day.close;
    const reach = swing === 0 ? 0 : Math.floor(((x >>> 18) & 0xff) * wick);
    const upper = (o > c ? o : c) + reach;
    const lower = (o < c ? o : c) - (swing === 0 ? 0 : Math.floor(((x >>> 4) & 0xff) * wick));
    open[i] = o;
    close[i] = c;
    high[i] = upper > highest ? highest : upper;
    low[i] = lower < lowest ? lowest : lower;
    last = c;
  }
}

function touch(bar: number, price: number, { high, low }: MinuteBuffer): void {
  if (price > (high[bar] as number)) high[bar] = price;
  if (price < (low[bar] as number)) low[bar] = price;
}

const MAX_BARS_PER_DAY = Math.max(...Object.values(SESSION_MINUTES).map((session) => session.labels.length));

/** See {@link Market.minuteBars}. */
export function minuteBars(calendars: MarketState["calendars"]): BarMaker {
  const buffer = minuteBuffer(MAX_BARS_PER_DAY);
  return {
    hasPrevClose: false,
    count(instrument, kind, day) {
      if (isSuspended(kind)) return 0;
      const { labels, auctionBars } = SESSION_MINUTES[instrument.region];
      const key = dayKeyOf(instrument, calendars[instrument.region], day);
      return labels.length - (auctionBars === 1 && !hasAuction(key) ? 1 : 0);
    },
    write(writer, row, shape, instrument, midnight) {
      const session = SESSION_MINUTES[instrument.region];
      const first = bridgeMinutes(shape, session, buffer);
      writeLabels(writer, row, midnight, session, first);
      writeMinutes(writer, row, shape, instrument, buffer, first, session.labels.length);
      return session.labels.length - first;
    },
  };
}

/** In no region do clocks change between midnight and the close of a trading day. */
function writeLabels(
  { timestampWords }: KlineWriter,
  row: number,
  midnight: number,
  { labels }: SessionMinutes,
  first: number,
): void {
  for (let i = first; i < labels.length; i++) {
    setInt64(timestampWords, row + i - first, midnight + (labels[i] as number) * MINUTE_MS);
  }
}

/** A quotient by 1000 or 100 is the double that is nearest to the decimal. */
function writeMinutes(
  { columns, volumeWords }: KlineWriter,
  row: number,
  { tickMilli }: DayShape,
  { boardLot, region }: SimInstrument,
  buffer: MinuteBuffer,
  first: number,
  end: number,
): void {
  const { doubles } = columns;
  const open = doubles.open.values;
  const high = doubles.high.values;
  const low = doubles.low.values;
  const close = doubles.close.values;
  const amount = doubles.amount.values;
  const centsPerStep = (tickMilli * boardLot) / 10;
  const unitsPerLot = boardLot / REGIONS[region].lot;
  for (let i = first, r = row; i < end; i++, r++) {
    open[r] = ((buffer.open[i] as number) * tickMilli) / 1000;
    high[r] = ((buffer.high[i] as number) * tickMilli) / 1000;
    low[r] = ((buffer.low[i] as number) * tickMilli) / 1000;
    close[r] = ((buffer.close[i] as number) * tickMilli) / 1000;
    amount[r] = ((buffer.amount[i] as number) * centsPerStep) / 100;
    setInt64(volumeWords, r, (buffer.volume[i] as number) * unitsPerLot);
  }
}

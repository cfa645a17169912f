import { setInt64 } from "../../core/bits.js";
import { MINUTE_MS, type TradingDate } from "../../core/time.js";
import { REGIONS } from "../../market/regions.js";
import type { KlineColumns } from "../../wire/kline-columns.js";
import type { SimInstrument } from "../instrument.js";
import { type KlineWriter, klineWriter } from "../kline-writer.js";
import { type DayRange, daysBetween, instrumentsOf, type MarketState } from "../market-state.js";
import { dayKeyOf, isSuspended } from "../prices/price-path.js";
import { type DayShape, emptyShape, hasAuction, shapeDay } from "./day-shape.js";
import {
  bridgeMinutes,
  type MinuteBuffer,
  minuteBuffer,
  SESSION_MINUTES,
  type SessionMinutes,
} from "./minute-bridge.js";

const MAX_BARS_PER_DAY = Math.max(...Object.values(SESSION_MINUTES).map((session) => session.labels.length));

/** Creates minute bars, each day's only from the shape of that day; see {@link Market.minuteBars}. */
export function makeMinuteBars(
  state: MarketState,
  symbols: readonly string[],
  from: TradingDate,
  to: TradingDate,
): KlineColumns {
  const instruments = instrumentsOf(state, symbols);
  const ranges = instruments.map((instrument) => daysBetween(state, instrument, from, to));
  let rows = 0;
  for (const [index, instrument] of instruments.entries()) {
    rows += countBars(state, instrument, ranges[index] as DayRange);
  }
  const writer = klineWriter(
    instruments.map((instrument) => instrument.symbol),
    rows,
    false,
  );
  const shape = emptyShape();
  const buffer = minuteBuffer(MAX_BARS_PER_DAY);
  let row = 0;
  for (const [index, instrument] of instruments.entries()) {
    const calendar = state.calendars[instrument.region];
    const session = SESSION_MINUTES[instrument.region];
    const path = state.pathOf(instrument);
    const { start, end } = ranges[index] as DayRange;
    const begin = row;
    for (let day = start; day < end; day++) {
      if (isSuspended(path.kind[day - instrument.start] as number)) continue;
      shapeDay(shape, instrument, path, calendar, day);
      const first = bridgeMinutes(shape, session, buffer);
      writeLabels(writer, row, calendar.midnights[day] as number, session, first);
      writeMinutes(writer, row, shape, instrument, buffer, first, session.labels.length);
      row += session.labels.length - first;
    }
    writer.columns.symbolIndex.fill(index, begin, row);
  }
  return writer.columns;
}

function countBars(state: MarketState, instrument: SimInstrument, { start, end }: DayRange): number {
  const calendar = state.calendars[instrument.region];
  const session = SESSION_MINUTES[instrument.region];
  const { kind } = state.pathOf(instrument);
  let bars = 0;
  for (let day = start; day < end; day++) {
    if (isSuspended(kind[day - instrument.start] as number)) continue;
    const withoutAuction = session.auctionBars === 1 && !hasAuction(dayKeyOf(instrument, calendar, day));
    bars += session.labels.length - (withoutAuction ? 1 : 0);
  }
  return bars;
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

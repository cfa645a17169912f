import { int64Words, setInt64 } from "../../core/bits.js";
import type { TradingDate } from "../../core/time.js";
import { REGIONS } from "../../market/regions.js";
import type { KlineColumns, NumberColumn } from "../../wire/kline-columns.js";
import type { SimInstrument } from "../instrument.js";
import { type DayRange, daysBetween, instrumentsOf, type MarketState } from "../market-state.js";
import { type DayShape, emptyShape, shapeDay } from "../minutes/day-shape.js";
import { DAY_KIND, type PricePath } from "./price-path.js";

/** Columns under construction. `timestamp` and `volume` are written as pairs of 32-bit words. */
export interface KlineWriter {
  readonly columns: KlineColumns;
  readonly timestampWords: Uint32Array;
  readonly volumeWords: Uint32Array;
}

/**
 * Open interest and settlement price are null in all rows; prev_close is, too, or, with `prevClose`, present in all.
 */
export function klineWriter(symbols: readonly string[], rows: number, prevClose: boolean): KlineWriter {
  const timestamp = new BigInt64Array(rows);
  const volume = new BigInt64Array(rows);
  const present = (): NumberColumn => ({ values: new Float64Array(rows), validity: undefined });
  const absent = (): NumberColumn => ({
    values: new Float64Array(rows),
    validity: new Uint8Array(Math.ceil(rows / 8)),
  });
  return {
    columns: {
      rows,
      symbols,
      symbolIndex: new Int32Array(rows),
      timestamp,
      volume,
      doubles: {
        open: present(),
        high: present(),
        low: present(),
        close: present(),
        amount: present(),
        open_interest: absent(),
        prev_close: prevClose ? present() : absent(),
        settlement_price: absent(),
      },
    },
    timestampWords: int64Words(timestamp),
    volumeWords: int64Words(volume),
  };
}

export function makeDailyBars(
  state: MarketState,
  symbols: readonly string[],
  from: TradingDate,
  to: TradingDate,
): KlineColumns {
  const instruments = instrumentsOf(state, symbols);
  const ranges = instruments.map((instrument) => daysBetween(state, instrument, from, to));
  let rows = 0;
  for (const [index, instrument] of instruments.entries()) {
    rows += countBars(state.pathOf(instrument), instrument, ranges[index] as DayRange);
  }
  const writer = klineWriter(
    instruments.map((instrument) => instrument.symbol),
    rows,
    true,
  );
  const shape = emptyShape();
  let row = 0;
  for (const [index, instrument] of instruments.entries()) {
    const calendar = state.calendars[instrument.region];
    const path = state.pathOf(instrument);
    const { start, end } = ranges[index] as DayRange;
    for (let day = start; day < end; day++) {
      if (path.kind[day - instrument.start] === DAY_KIND.suspendedAbsent) continue;
      shapeDay(shape, instrument, path, calendar, day);
      writer.columns.symbolIndex[row] = index;
      setInt64(writer.timestampWords, row, calendar.midnights[day] as number);
      writeDay(writer, row++, shape, instrument);
    }
  }
  return writer.columns;
}

function countBars(path: PricePath, instrument: SimInstrument, { start, end }: DayRange): number {
  let bars = 0;
  for (let day = start; day < end; day++) {
    if (path.kind[day - instrument.start] !== DAY_KIND.suspendedAbsent) bars++;
  }
  return bars;
}

function writeDay(writer: KlineWriter, row: number, shape: DayShape, instrument: SimInstrument): void {
  const { doubles } = writer.columns;
  const { tickMilli } = shape;
  const { boardLot, region } = instrument;
  doubles.open.values[row] = (shape.open * tickMilli) / 1000;
  doubles.high.values[row] = (shape.high * tickMilli) / 1000;
  doubles.low.values[row] = (shape.low * tickMilli) / 1000;
  doubles.close.values[row] = (shape.close * tickMilli) / 1000;
  doubles.prev_close.values[row] = shape.referenceMilli / 1000;
  doubles.amount.values[row] = (shape.amount * ((tickMilli * boardLot) / 10)) / 100;
  setInt64(writer.volumeWords, row, shape.volume * (boardLot / REGIONS[region].lot));
}

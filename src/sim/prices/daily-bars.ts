import { int64Words, setInt64 } from "../../core/bits.js";
import type { TradingDate } from "../../core/time.js";
import { REGIONS } from "../../market/regions.js";
import type { KlineColumns, NumberColumn } from "../../wire/kline-columns.js";
import type { SimInstrument } from "../instrument.js";
import { daysBetween, instrumentsOf, type MarketState } from "../market-state.js";
import { type DayShape, emptyShape, shapeDay } from "../minutes/day-shape.js";
import { DAY_KIND } from "./price-path.js";

/** Columns under construction. `timestamp` and `volume` are written as pairs of 32-bit words. */
export interface KlineWriter {
  readonly columns: KlineColumns;
  readonly timestampWords: Uint32Array;
  readonly volumeWords: Uint32Array;
}

/**
 * Open interest and settlement price are null in all rows; prev_close is, too, or, with `prevClose`, present in all.
 */
function klineWriter(symbols: readonly string[], rows: number, prevClose: boolean): KlineWriter {
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

/** How bars of a period are made from the days of an instrument. */
export interface BarMaker {
  readonly hasPrevClose: boolean;
  /** Number of bars of a day; 0 where nothing traded. */
  count(instrument: SimInstrument, kind: number, day: number): number;
  /** Writes the bars of a day from a row on. @returns their number. */
  write(
    writer: KlineWriter,
    row: number,
    shape: DayShape,
    instrument: SimInstrument,
    midnight: number,
  ): number;
}

/** Bars in the order of symbols and days, each day's only from its shape. */
export function makeBars(
  state: MarketState,
  symbols: readonly string[],
  [from, to]: readonly [from: TradingDate, to: TradingDate],
  maker: BarMaker,
): KlineColumns {
  const instruments = instrumentsOf(state, symbols);
  let rows = 0;
  const days = instruments.map((instrument) => {
    const { kind } = state.pathOf(instrument);
    const { start, end } = daysBetween(state, instrument, from, to);
    return Array.from({ length: end - start }, (_, i) => start + i).filter((day) => {
      const bars = maker.count(instrument, kind[day - instrument.start] as number, day);
      rows += bars;
      return bars > 0;
    });
  });
  const writer = klineWriter(
    instruments.map(({ symbol }) => symbol),
    rows,
    maker.hasPrevClose,
  );
  const shape = emptyShape();
  let row = 0;
  for (const [index, instrument] of instruments.entries()) {
    const calendar = state.calendars[instrument.region];
    const path = state.pathOf(instrument);
    const begin = row;
    for (const day of days[index] ?? []) {
      shapeDay(shape, instrument, path, calendar, day);
      row += maker.write(writer, row, shape, instrument, calendar.midnights[day] as number);
    }
    writer.columns.symbolIndex.fill(index, begin, row);
  }
  return writer.columns;
}

export const DAILY_BARS: BarMaker = {
  hasPrevClose: true,
  count: (_, kind) => (kind === DAY_KIND.suspendedAbsent ? 0 : 1),
  write(writer, row, shape, instrument, midnight) {
    setInt64(writer.timestampWords, row, midnight);
    writeDay(writer, row, shape, instrument);
    return 1;
  },
};

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

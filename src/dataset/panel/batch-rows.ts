import type { RecordBatch } from "apache-arrow";
import { isSet } from "../../core/bits.js";
import { dateOfEpochDay, type TradingDate } from "../../core/time.js";

/** Rows of one date, or of one end of bars: `start` inclusive, `end` exclusive. */
export interface RowStretch {
  readonly date: TradingDate;
  /** End of the bars, epoch milliseconds; undefined where labels are dates. */
  readonly time: number | undefined;
  readonly start: number;
  readonly end: number;
}

/** A batch of rows as typed arrays, one value per row. */
export interface BatchRows {
  readonly rows: number;
  /** The rows of each date, or time, in order of time. All rows of a date or time are in one batch. */
  readonly labels: readonly RowStretch[];
  /** The dataset's symbols. `symbol` is the index of each row's symbol among them. */
  readonly symbols: readonly string[];
  readonly symbol: Int32Array;
  /** NaN where there is no value. */
  readonly fields: Readonly<Record<string, Float64Array>>;
  /** 0 or 1. */
  readonly masks: Readonly<Record<string, Uint8Array>>;
}

/** Number of columns before the fields. */
const KEYS = 3;

/** The typed arrays of a batch of {@link panelBatches}. Fields are views of the batch; masks are unpacked from bits. */
export function batchRows(
  batch: RecordBatch,
  {
    symbols,
    fields,
    isIntraday,
  }: { readonly symbols: readonly string[]; readonly fields: number; readonly isIntraday: boolean },
): BatchRows {
  const rows = batch.numRows;
  const names = batch.schema.fields.map(({ name }) => name);
  /** A column's buffer: each column of a batch is one chunk. */
  const own = (index: number): unknown => batch.getChildAt(index)?.data[0]?.values;
  const times = isIntraday ? (own(2) as BigInt64Array) : undefined;
  const masks = names.slice(KEYS + fields).map((name, i) => {
    const bits = own(KEYS + fields + i) as Uint8Array;
    return [name, Uint8Array.from({ length: rows }, (_, row) => Number(isSet(bits, row)))];
  });
  return {
    rows,
    labels: stretchesOf(own(1) as Int32Array, times, rows),
    symbols,
    symbol: own(0) as Int32Array,
    fields: Object.fromEntries(
      names.slice(KEYS, KEYS + fields).map((name, i) => [name, own(KEYS + i) as Float64Array]),
    ),
    masks: Object.fromEntries(masks) as Record<string, Uint8Array>,
  };
}

function stretchesOf(days: Int32Array, times: BigInt64Array | undefined, rows: number): RowStretch[] {
  const found: RowStretch[] = [];
  let start = 0;
  for (let row = 1; row <= rows; row++) {
    if (row < rows && days[row] === days[start] && times?.[row] === times?.[start]) continue;
    const time = times === undefined ? undefined : Number(times[start]);
    found.push({ date: dateOfEpochDay(days[start] as number), time, start, end: row });
    start = row;
  }
  return found;
}

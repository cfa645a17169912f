/** Versions of one item of an instrument's statements, at least one, ordered by the date of their publication. */
export interface PitVersions {
  /** Dates from which they are known, such as 20260430, ascending. */
  readonly dates: Int32Array;
  /** Their years and quarters, such as 202601. */
  readonly periods: Int32Array;
  /** NaN where the statement has no value. */
  readonly values: Float64Array;
}

/** The two files of an item. */
export interface PitFiles {
  readonly data: Uint8Array;
  readonly index: Uint8Array;
}

const RECORD_BYTES = 20;
/** Position in a record of the offset of the period's next version. */
const NEXT = 16;
/** The offset of a missing version. */
const NONE = 0xffffffff;

/**
 * Writes an item's versions for qlib's point-in-time reader (microsoft/qlib, scripts/dump_pit.py and
 * `read_period_data`), all little-endian. `data`: 20 bytes per version, in the order of publication: uint32 date,
 * uint32 period, float64 value, uint32 offset of the next version of the same period. `index`: uint32 first year, then
 * for each quarter from that year's first to the last year's fourth the uint32 offset of its first version.
 */
export function pitFiles({ dates, periods, values }: PitVersions): PitFiles {
  const years = periods.map((period) => Math.floor(period / 100));
  const firstYear = years.reduce((least, year) => Math.min(least, year));
  const lastYear = years.reduce((most, year) => Math.max(most, year));
  const data = new DataView(new ArrayBuffer(dates.length * RECORD_BYTES));
  const index = new DataView(new ArrayBuffer(4 + (lastYear - firstYear + 1) * 4 * 4));
  new Uint8Array(index.buffer).fill(0xff);
  index.setUint32(0, firstYear, true);
  const newest = new Map<number, number>();
  for (const [i, period] of periods.entries()) {
    const at = i * RECORD_BYTES;
    data.setUint32(at, dates[i] as number, true);
    data.setUint32(at + 4, period, true);
    data.setFloat64(at + 8, values[i] as number, true);
    data.setUint32(at + NEXT, NONE, true);
    const before = newest.get(period);
    const quarter = ((years[i] as number) - firstYear) * 4 + (period % 100) - 1;
    if (before === undefined) index.setUint32(4 + quarter * 4, at, true);
    else data.setUint32(before + NEXT, at, true);
    newest.set(period, at);
  }
  return { data: new Uint8Array(data.buffer), index: new Uint8Array(index.buffer) };
}

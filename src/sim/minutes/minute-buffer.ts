/** The bars of one day, in the units of `DayShape`. The buffer is created once and filled again for every day. */
export interface MinuteBuffer {
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

/** A buffer for days of at most `bars` bars. */
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
export interface BarBounds {
  readonly first: number;
  /** The first bar that is not the bar of the opening auction. */
  readonly priced: number;
  /** The first bar after the price was sealed at a limit; `end` if it was not. */
  readonly sealed: number;
  readonly end: number;
}

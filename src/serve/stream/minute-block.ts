import type { Minutes } from "./read-minutes.js";
import { addMinute, type RunningBars } from "./running-bars.js";

/** Minutes of some symbols that were read ahead of the replayed time. */
export class MinuteBlock {
  readonly #bars: readonly RunningBars[];
  readonly #minutes: Minutes;
  /** The first row that has not been added yet. */
  #next = 0;

  /** @param bars the bars to which the positions of the minutes refer. */
  constructor(bars: readonly RunningBars[], minutes: Minutes) {
    this.#bars = bars;
    this.#minutes = minutes;
  }

  /** Adds the minutes up to an instant (epoch milliseconds, inclusive) to the bars of their symbols. */
  addUntil(until: number): void {
    const { rows, columns } = this.#minutes;
    const [times, positions] = [columns.timestamp.values, columns.position.values];
    for (; this.#next < rows && (times[this.#next] as number) <= until; this.#next++)
      addMinute(this.#bars[positions[this.#next] as number] as RunningBars, this.#minutes, this.#next);
  }

  /** Whether all minutes have been added. */
  get isUsed(): boolean {
    return this.#next === this.#minutes.rows;
  }
}

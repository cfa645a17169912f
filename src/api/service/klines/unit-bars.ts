import { lowerBound } from "../../../core/lower-bound.js";
import type { ResponseVerdict } from "../../../plan/absence/judge-response.js";
import type { Page } from "../../../plan/absence/older-bars.js";
import type { KlineRun } from "../../../wire/kline-columns.js";

/** The bars of the responses about one window, by symbol. It is a class because each response adds to it. */
export class UnitBars {
  readonly #runs = new Map<string, KlineRun[]>();

  /**
   * Adds the valid bars of a response. Left out are the bar that a request for older bars repeats, symbols that will be requested
   * a second time, and bars of another period.
   */
  add(
    { gaps, window, again }: Page,
    sound: readonly KlineRun[],
    { absence, mislabelled }: ResponseVerdict,
  ): void {
    const excluded = new Set([...(again === undefined ? absence.unconfirmed : []), ...mislabelled]);
    for (const { symbol, values, start, end: last } of sound) {
      if (excluded.has(symbol)) continue;
      const endMs = gaps?.get(symbol)?.window.end ?? window.end;
      const end = lowerBound(start, last, (row) => Number(values.timestamp[row]) >= endMs);
      if (end === start) continue;
      const run = { symbol, values, start, end };
      this.#runs.set(symbol, [...(this.#runs.get(symbol) ?? []), run]);
    }
  }

  /** Number of a symbol's bars. */
  countOf(symbol: string): number {
    return (this.#runs.get(symbol) ?? []).reduce((sum, { start, end }) => sum + end - start, 0);
  }

  /**
   * The bars of each symbol, ascending in time.
   *
   * @param symbols their order.
   * @param newest most bars of a symbol: its newest ones.
   */
  runs(symbols: readonly string[], newest = Number.POSITIVE_INFINITY): KlineRun[] {
    return symbols.flatMap((symbol) => {
      const runs = (this.#runs.get(symbol) ?? []).toSorted((a, b) => firstTime(a) - firstTime(b));
      let extra = this.countOf(symbol) - newest;
      return runs.flatMap((run) => {
        const start = Math.min(run.end, run.start + Math.max(0, extra));
        extra -= run.end - run.start;
        return start < run.end ? [{ ...run, start }] : [];
      });
    });
  }
}

function firstTime({ values, start }: KlineRun): number {
  return Number(values.timestamp[start]);
}

import { type TimeRange, unionRanges } from "../../../core/time.js";
import type { Region } from "../../../market/regions.js";
import type { Page, Verdict } from "../../../plan/absence/older-bars.js";
import type { Completeness } from "../../run/report/completeness.js";
import type { PlanFacts } from "./bars-demand.js";

/**
 * Counts each requested session of one demand once. It is a class because it stores which time will be planned again.
 */
export class AskedSessions {
  readonly #completeness: Completeness;
  readonly #dataset: string;
  readonly #facts: Pick<PlanFacts, "calendars" | "now">;
  /** Counted time that a later plan requests again, by symbol. */
  readonly #postponed = new Map<string, TimeRange[]>();

  constructor(
    completeness: Completeness,
    { dataset, facts }: { readonly dataset: string; readonly facts: Pick<PlanFacts, "calendars" | "now"> },
  ) {
    this.#completeness = completeness;
    this.#dataset = dataset;
    this.#facts = facts;
  }

  /** The number of trading days in the window of a region. */
  days({ region, window }: { readonly region: Region; readonly window: TimeRange }): number {
    return this.#facts.calendars.get(region)?.daysIn(window, this.#facts.now).length ?? 0;
  }

  /**
   * Counts the symbols and sessions of a page of the plan. Follow-up requests add no sessions, so they are not counted.
   */
  count({ region, symbols, window, gaps, again }: Page, sessions?: ReadonlyMap<string, number>): void {
    if (gaps !== undefined || again !== undefined) return;
    const days = this.days({ region, window });
    let total = 0;
    for (const symbol of symbols) {
      total += sessions?.get(symbol) ?? days;
      for (const { start, end } of this.#postponed.get(symbol) ?? []) {
        const counted = { start: Math.max(start, window.start), end: Math.min(end, window.end) };
        if (counted.start < counted.end) total -= this.days({ region, window: counted });
      }
    }
    this.#completeness.asked(this.#dataset, symbols, total, window.start);
  }

  /** Records the windows that a response leaves to the next plan. @returns whether there are any. */
  postpone({ postponed }: Pick<Verdict, "postponed">): boolean {
    for (const { symbol, window } of postponed)
      this.#postponed.set(symbol, unionRanges([...(this.#postponed.get(symbol) ?? []), window]));
    return postponed.length > 0;
  }
}

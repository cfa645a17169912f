import type { TimeRange } from "../../core/time.js";
import { CALENDAR_SYMBOLS, FEWEST_SYMBOLS } from "../../lake/land/trading-days.js";
import { byRegion, type Region } from "../../market/regions.js";
import { isExplained, type Page, type PossibleGap, type Verdict } from "../../plan/absence/older-bars.js";

/**
 * Ranges in which a region did not trade, as follow-up requests for older bars have shown. It is a class because it
 * learns.
 */
export class ClosedRanges {
  readonly #ranges: Record<Region, TimeRange[]> = byRegion(() => []);

  of(region: Region): readonly TimeRange[] {
    return this.#ranges[region];
  }

  /** Whether a gap lies in a time at which the region did not trade. */
  explains(gap: PossibleGap): boolean {
    return isExplained(gap, this.#ranges[gap.region]);
  }

  /** Learns from a follow-up request that found nothing older for enough symbols, or for the region's index. */
  learn(page: Page, verdict: Verdict): void {
    if (page.gaps === undefined) return;
    const indexes = CALENDAR_SYMBOLS[page.region];
    for (const { symbols, window } of verdict.settled) {
      const empty = symbols.filter((symbol) => page.gaps?.get(symbol)?.window.end === window.end);
      const isEvidence = empty.length >= FEWEST_SYMBOLS || empty.some((symbol) => indexes.includes(symbol));
      const brought = verdict.shown.some(({ wasCut }) => wasCut);
      if (isEvidence && !brought && window.start === page.window.start)
        this.#ranges[page.region].push(window);
    }
  }
}

import { subtractRanges, type TimeRange } from "../../core/time.js";
import type { Region } from "../../market/regions.js";
import { type CoveredTime, NOTHING_COVERED, type OlderTime, olderBarsSince } from "./older-time.js";
import type { RowCap } from "./row-cap.js";
import type { SymbolBeginning } from "./window-beginning.js";

/** A symbol whose response began later than expected: older bars of its window may be missing. */
export interface PossibleGap {
  readonly region: Region;
  readonly symbol: string;
  /** From the start of the window to the oldest known bar (exclusive). */
  readonly window: TimeRange;
  /** From where on a follow-up request asks for it: it does not go back through covered time. */
  readonly since: number;
  /** Number of the symbol's bars in the response that began late, and that response's identifier. */
  readonly rows: number;
  readonly source: string;
  /** Whether the response looks cut by a cap. */
  readonly isUrgent: boolean;
  /** Number of follow-up requests that have not settled it. */
  readonly tries: number;
}

/** Follow-up requests of a gap that also cover gaps with other ends; each later one ends where its gap ends. */
const SHARED_TRIES = 2;
/** Follow-up requests after which a run abandons a gap, where the responses are not about its symbol. */
const MOST_TRIES = 6;

/** A request for bars: one of the plan, or a follow-up request for older bars or absent symbols. */
export interface Page {
  readonly region: Region;
  readonly symbols: readonly string[];
  readonly window: TimeRange;
  /** The gaps that a follow-up request is to settle, by symbol; undefined for a request of the plan. */
  readonly gaps?: ReadonlyMap<string, PossibleGap>;
  /** Set for a second request for absent symbols: `all` of them, or `some` as a sample. */
  readonly again?: "all" | "some";
}

/** Symbols with a full response within a window. */
export interface SettledPart {
  readonly symbols: readonly string[];
  readonly window: TimeRange;
}

/** A window of a symbol. */
export interface SymbolWindow {
  readonly symbol: string;
  readonly window: TimeRange;
}

/** What a response settles, and which gaps it leaves. */
export interface Verdict {
  readonly settled: readonly SettledPart[];
  readonly gaps: readonly PossibleGap[];
  /** Requested time before covered time that no follow-up request asks for: the next plan has it. */
  readonly postponed: readonly SymbolWindow[];
  /** Gaps that no follow-up request has settled. */
  readonly abandoned: readonly PossibleGap[];
  /** Earlier responses that a follow-up request has shown to be cut or whole: their number of bars of a symbol. */
  readonly shown: readonly {
    readonly source: string;
    readonly rows: number;
    readonly wasCut: boolean;
  }[];
}

/**
 * Decides what a response settles. A window is settled for a symbol where its first session was seen, where nothing can
 * have been cut off before it, or where a request for older bars brought only the known bar: a response without that bar
 * is not about the symbol.
 *
 * @param beginnings beginnings of the symbols that have a bar.
 * @param open symbols for which the response settles nothing.
 * @param covered what earlier responses have settled: it is in no gap.
 */
export function judgeBeginnings(
  page: Page,
  beginnings: readonly SymbolBeginning[],
  cap: RowCap,
  {
    source,
    open,
    covered = NOTHING_COVERED,
  }: {
    readonly source: string;
    readonly open: ReadonlySet<string>;
    readonly covered?: CoveredTime;
  },
): Verdict {
  const suspects = cap.suspects(beginnings);
  const isSuspect = new Set(suspects.map(({ symbol }) => symbol));
  const isUrgent = cap.looksLikeCap(suspects);
  const bySymbol = new Map(beginnings.map((one) => [one.symbol, one]));
  const gaps: PossibleGap[] = [];
  const postponed: SymbolWindow[] = [];
  const abandoned: PossibleGap[] = [];
  const shown: Verdict["shown"][number][] = [];
  const parts = new PartsByWindow();
  const postpone = (symbol: string, windows: readonly TimeRange[]): void => {
    for (const window of windows) postponed.push({ symbol, window });
  };
  const begun: (OlderTime & Pick<PossibleGap, "symbol" | "rows">)[] = [];
  let most = 0;
  for (const symbol of page.symbols) {
    if (open.has(symbol)) continue;
    const began = bySymbol.get(symbol);
    const before = page.gaps?.get(symbol);
    const whole = before?.window ?? page.window;
    // A follow-up request may ask only for the end of a gap.
    const window = { start: Math.max(whole.start, page.window.start), end: whole.end };
    const repeat = (gap: PossibleGap): unknown =>
      gaps.push({ ...gap, isUrgent: false, tries: gap.tries + 1 });
    const uncoveredBefore = (end: number): readonly TimeRange[] =>
      end > whole.start ? covered.uncovered(symbol, { start: whole.start, end }) : [];
    const older = began !== undefined && began.oldest < window.end ? began : undefined;
    if (before !== undefined && (began === undefined || began.newest < window.end)) {
      if (before.tries < MOST_TRIES) repeat(before);
      else abandoned.push(before);
      continue;
    }
    if (before !== undefined && older === undefined) {
      // The part of the response after the gap counts only where the response itself was not cut.
      if (page.window.end !== window.end + 1 && isSuspect.has(symbol)) {
        repeat(before);
        continue;
      }
      // If the page does not reach the start of the gap, the earlier response may have been cut before the page.
      if (window.start === whole.start)
        shown.push({ source: before.source, rows: before.rows, wasCut: false });
    } else if (before !== undefined) shown.push({ source: before.source, rows: before.rows, wasCut: true });
    if (older === undefined || !isSuspect.has(symbol) || older.oldest <= window.start) {
      parts.add(symbol, window);
      postpone(symbol, uncoveredBefore(window.start));
      continue;
    }
    const { oldest, rows } = older;
    parts.add(symbol, { start: oldest, end: window.end });
    begun.push({
      symbol,
      window: { start: whole.start, end: oldest },
      rows,
      uncovered: uncoveredBefore(oldest),
    });
    most = Math.max(most, rows, before?.rows ?? 0);
  }
  // Its symbols share the next request, too: it skips only what is covered for all of them.
  const since = olderBarsSince(begun, most, covered.bars);
  for (const { symbol, window, rows, uncovered } of begun) {
    const requested = uncovered.filter(({ start }) => start >= since);
    postpone(symbol, uncovered.slice(0, uncovered.length - requested.length));
    if (requested.length > 0)
      gaps.push({ region: page.region, symbol, window, since, rows, source, isUrgent, tries: 0 });
  }
  return { settled: parts.list, gaps, postponed, abandoned, shown };
}

/** Collects symbols by window. */
class PartsByWindow {
  readonly #parts = new Map<string, { symbols: string[]; window: TimeRange }>();

  add(symbol: string, window: TimeRange): void {
    const key = `${window.start} ${window.end}`;
    const part = this.#parts.get(key);
    if (part === undefined) this.#parts.set(key, { symbols: [symbol], window });
    else part.symbols.push(symbol);
  }

  get list(): SettledPart[] {
    return [...this.#parts.values()];
  }
}

/**
 * The next follow-up requests for a list of gaps. Gaps in the same time are requested together. Of several requests for
 * the same time only one is taken, because its response can settle the others.
 *
 * @param size most symbols of one request.
 * @returns the requests, and the remaining gaps.
 */
export function nextFollowUps(
  gaps: readonly PossibleGap[],
  size: number,
): { readonly followUps: readonly Page[]; readonly left: readonly PossibleGap[] } {
  const groups = new Map<string, PossibleGap[]>();
  for (const gap of gaps) {
    const { region, window, isUrgent, tries: made } = gap;
    const end = isUrgent || made >= SHARED_TRIES ? window.end : "";
    const key = `${region} ${window.start} ${end}`;
    groups.set(key, [...(groups.get(key) ?? []), gap]);
  }
  const followUps: Page[] = [];
  const left: PossibleGap[] = [];
  for (const group of groups.values()) {
    // One symbol may have two gaps that begin at the same time.
    const taken = new Map<string, PossibleGap>();
    for (const gap of group) {
      if (taken.size < size && !taken.has(gap.symbol)) taken.set(gap.symbol, gap);
      else left.push(gap);
    }
    followUps.push(followUpFor(taken));
  }
  return { followUps, left };
}

function followUpFor(gaps: ReadonlyMap<string, PossibleGap>): Page {
  const [first] = gaps.values();
  const { region } = first as PossibleGap;
  // The oldest known bar is requested, too: it shows that the response is about the symbol.
  const all = [...gaps.values()];
  const end = Math.max(...all.map((gap) => gap.window.end)) + 1;
  const start = Math.min(...all.map(({ since }) => since));
  return { region, symbols: [...gaps.keys()].sort(), window: { start, end }, gaps };
}

/** Whether the region did not trade in the whole window of a gap. */
export function isExplained(gap: PossibleGap, closed: readonly TimeRange[]): boolean {
  return subtractRanges(gap.window, closed).length === 0;
}

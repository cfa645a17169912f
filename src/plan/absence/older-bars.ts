import { subtractRanges, type TimeRange } from "../../core/time.js";
import type { Region } from "../../market/regions.js";
import type { RowCap } from "./row-cap.js";
import type { SymbolBeginning } from "./window-beginning.js";

/** A symbol whose response began later than was expected: older bars of its window may be missing. */
export interface Doubt {
  readonly region: Region;
  readonly symbol: string;
  /** From the start of the window to the oldest bar that is known (exclusive). */
  readonly window: TimeRange;
  /** Bars of the symbol in the response that raised the doubt, and what identifies that response. */
  readonly rows: number;
  readonly source: string;
  /** Whether the response looks as if a cap had cut it. */
  readonly isUrgent: boolean;
  /** Looks that have not settled it. */
  readonly looks: number;
}

/** Looks that a doubt shares with doubts that end at another time; later ones end where the doubt ends. */
const SHARED_LOOKS = 2;
/** Looks after which a doubt is given up in a run, where responses are not about its symbol. */
const MOST_LOOKS = 6;

/** A request for bars: one of the plan, or a look for older bars. */
export interface Page {
  readonly region: Region;
  readonly symbols: readonly string[];
  readonly window: TimeRange;
  /** What a look is for, by symbol; undefined for a request of the plan. */
  readonly doubts?: ReadonlyMap<string, Doubt>;
  /** Set where the symbols are asked for a second time, as nothing came of them: all of those, or some for all. */
  readonly again?: "all" | "some";
}

/** Symbols that were answered in full within a window. */
export interface SettledPart {
  readonly symbols: readonly string[];
  readonly window: TimeRange;
}

/** What a response settles, and what it leaves in doubt. */
export interface Verdict {
  readonly settled: readonly SettledPart[];
  readonly doubts: readonly Doubt[];
  /** Doubts that no look has settled. */
  readonly abandoned: readonly Doubt[];
  /** Earlier responses that a look has shown to be cut, or not to be: their number of bars of a symbol. */
  readonly shown: readonly {
    readonly source: string;
    readonly rows: number;
    readonly wasCut: boolean;
  }[];
}

/**
 * Decides what a response settles. A window is settled for a symbol where its first session was seen, where nothing can
 * have been cut off before it, or where a look for older bars brought none but the one that was known: a response without
 * that bar is not about the symbol.
 *
 * @param beginnings of the symbols that have a bar. @param open symbols that the response settles nothing of.
 * @param isKnown whether a range of a symbol was answered before: it is in no doubt.
 */
export function judgeBeginnings(
  page: Page,
  beginnings: readonly SymbolBeginning[],
  cap: RowCap,
  {
    source,
    open,
    isKnown = () => false,
  }: {
    readonly source: string;
    readonly open: ReadonlySet<string>;
    readonly isKnown?: (symbol: string, range: TimeRange) => boolean;
  },
): Verdict {
  const suspects = cap.suspects(beginnings);
  const isSuspect = new Set(suspects.map(({ symbol }) => symbol));
  const isUrgent = cap.looksLikeCap(suspects);
  const bySymbol = new Map(beginnings.map((one) => [one.symbol, one]));
  const doubts: Doubt[] = [];
  const abandoned: Doubt[] = [];
  const shown: Verdict["shown"][number][] = [];
  const parts = new PartsByWindow();
  for (const symbol of page.symbols) {
    if (open.has(symbol)) continue;
    const began = bySymbol.get(symbol);
    const before = page.doubts?.get(symbol);
    const window = before?.window ?? page.window;
    const raise = (end: number, rows: number): void => {
      const isAgain = before !== undefined && end === before.window.end;
      doubts.push({
        region: page.region,
        symbol,
        window: { start: window.start, end },
        rows,
        source: isAgain ? before.source : source,
        isUrgent: isUrgent && !isAgain,
        looks: isAgain ? before.looks + 1 : 0,
      });
    };
    const older = began !== undefined && began.oldest < window.end ? began : undefined;
    if (before !== undefined && (began === undefined || began.newest < window.end)) {
      if (before.looks < MOST_LOOKS) raise(window.end, before.rows);
      else abandoned.push(before);
      continue;
    }
    if (before !== undefined && older === undefined) {
      // What the look shows of the time after the doubt only counts where it was not cut itself.
      const isSettled = page.window.end === window.end + 1 || !isSuspect.has(symbol);
      if (isSettled) {
        shown.push({ source: before.source, rows: before.rows, wasCut: false });
        parts.add(symbol, window);
      } else raise(window.end, before.rows);
      continue;
    }
    if (before !== undefined) shown.push({ source: before.source, rows: before.rows, wasCut: true });
    if (older !== undefined && isSuspect.has(symbol) && older.oldest > window.start) {
      if (!isKnown(symbol, { start: window.start, end: older.oldest })) raise(older.oldest, older.rows);
      parts.add(symbol, { start: older.oldest, end: window.end });
    } else parts.add(symbol, window);
  }
  return { settled: parts.list, doubts, abandoned, shown };
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
 * Takes the next looks out of a list of doubts. Doubts about the same time are asked for together; of several looks for
 * the same time only one is taken, as its response can settle the others.
 *
 * @param size symbols of one request, at most. @returns the looks, and the doubts that are left.
 */
export function nextLooks(
  doubts: readonly Doubt[],
  size: number,
): { readonly looks: readonly Page[]; readonly left: readonly Doubt[] } {
  const groups = new Map<string, Doubt[]>();
  for (const doubt of doubts) {
    const { region, window, isUrgent, looks: made } = doubt;
    const end = isUrgent || made >= SHARED_LOOKS ? window.end : "";
    const key = `${region} ${window.start} ${end}`;
    groups.set(key, [...(groups.get(key) ?? []), doubt]);
  }
  const looks: Page[] = [];
  const left: Doubt[] = [];
  for (const group of groups.values()) {
    // One symbol may be in doubt twice, of windows that begin at the same time.
    const taken = new Map<string, Doubt>();
    for (const doubt of group) {
      if (taken.size < size && !taken.has(doubt.symbol)) taken.set(doubt.symbol, doubt);
      else left.push(doubt);
    }
    looks.push(lookFor(taken));
  }
  return { looks, left };
}

function lookFor(doubts: ReadonlyMap<string, Doubt>): Page {
  const [first] = doubts.values();
  const { region, window } = first as Doubt;
  // The oldest bar that is known is asked for, too: it shows that the response is about the symbol.
  const end = Math.max(...[...doubts.values()].map((doubt) => doubt.window.end)) + 1;
  return { region, symbols: [...doubts.keys()].sort(), window: { start: window.start, end }, doubts };
}

/** Whether the region did not trade in all of the time that is in doubt. */
export function isExplained(doubt: Doubt, closed: readonly TimeRange[]): boolean {
  return subtractRanges(doubt.window, closed).length === 0;
}

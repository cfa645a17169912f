import { subtractRanges, type TimeRange } from "../../core/time.js";
import type { Region } from "../../market/regions.js";
import type { RowCap } from "./row-cap.js";
import type { SymbolBeginning } from "./window-beginning.js";

/** A symbol whose response began later than expected: older bars of its window may be missing. */
export interface Doubt {
  readonly region: Region;
  readonly symbol: string;
  /** From the start of the window to the oldest known bar (exclusive). */
  readonly window: TimeRange;
  /** Number of the symbol's bars in the response that raised the doubt, and that response's identifier. */
  readonly rows: number;
  readonly source: string;
  /** Whether the response looks cut by a cap. */
  readonly isUrgent: boolean;
  /** Number of looks that have not settled it. */
  readonly looks: number;
}

/** Number of looks that a doubt shares with doubts that end at another time; later looks end where the doubt ends. */
const SHARED_LOOKS = 2;
/** Number of looks after which a run gives up a doubt, where responses are not about its symbol. */
const MOST_LOOKS = 6;

/** A request for bars: one of the plan, or a follow-up request ("look") for older bars or absent symbols. */
export interface Page {
  readonly region: Region;
  readonly symbols: readonly string[];
  readonly window: TimeRange;
  /** The doubts that a look is to settle, by symbol; undefined for a request of the plan. */
  readonly doubts?: ReadonlyMap<string, Doubt>;
  /** Set for a second request for absent symbols: `all` of them, or `some` as a sample. */
  readonly again?: "all" | "some";
}

/** Symbols with a full response within a window. */
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
  /** Earlier responses that a look has shown to be cut or whole: their number of bars of a symbol. */
  readonly shown: readonly {
    readonly source: string;
    readonly rows: number;
    readonly wasCut: boolean;
  }[];
}

/**
 * Decides what a response settles. A window is settled for a symbol where its first session was seen, where nothing can
 * have been cut off before it, or where a look for older bars brought only the known bar: a response without that bar
 * is not about the symbol.
 *
 * @param beginnings beginnings of the symbols that have a bar.
 * @param open symbols for which the response settles nothing.
 * @param isKnown whether a range of a symbol had a response before: it is then not in doubt.
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
      // The part of a look after the doubt counts only where the look itself was not cut.
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
 * Takes the next looks out of a list of doubts. Doubts about the same time are requested together; of several looks for
 * the same time only one is taken, because its response can settle the others.
 *
 * @param size most symbols of one request.
 * @returns the looks, and the remaining doubts.
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
    // One symbol may have two doubts, with windows that begin at the same time.
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
  // The oldest known bar is requested, too: it shows that the response is about the symbol.
  const end = Math.max(...[...doubts.values()].map((doubt) => doubt.window.end)) + 1;
  return { region, symbols: [...doubts.keys()].sort(), window: { start: window.start, end }, doubts };
}

/** Whether the region did not trade in the whole window of a doubt. */
export function isExplained(doubt: Doubt, closed: readonly TimeRange[]): boolean {
  return subtractRanges(doubt.window, closed).length === 0;
}

import { groupBy } from "../../core/group-by.js";
import { subtractRanges, type TimeRange, unionRanges } from "../../core/time.js";
import type { LandedPeriod } from "../../market/period.js";
import type { Region } from "../../market/regions.js";
import { daysOverlapped, type TradingDays } from "../../market/trading-calendar.js";
import { LIMITS } from "../../wire/endpoints.js";
import { barsPerDay } from "../request-units.js";
import type { SymbolBeginning, SymbolRows } from "./window-beginning.js";

/** The time that earlier responses have settled. */
export interface CoveredTime {
  /** Returns the parts of a symbol's range that have a trading day and no response, ascending. */
  readonly uncovered: (symbol: string, range: TimeRange) => readonly TimeRange[];
  /** Returns the most bars that a symbol can have in a range. */
  readonly bars: (range: TimeRange) => number;
}

/** For a symbol that was never requested before. */
const NOTHING_COVERED: CoveredTime = { uncovered: (_, range) => [range], bars: () => 0 };

interface CoverageFacts {
  readonly region: Region;
  readonly period: LandedPeriod;
  /** Returns the trading days of a range, ascending. */
  readonly daysIn: (range: TimeRange) => TradingDays;
  /** Windows with a response of final bars, by symbol. */
  readonly covered: ReadonlyMap<string, readonly TimeRange[]>;
}

export function coveredTime({ region, period, daysIn, covered }: CoverageFacts): CoveredTime {
  return {
    uncovered: (symbol, range) => {
      const rests = subtractRanges(range, covered.get(symbol) ?? []);
      if (rests.length === 0) return rests;
      const days = daysIn(range);
      return rests.filter((rest) => {
        const { first, end } = daysOverlapped(days, rest);
        return first < end;
      });
    },
    bars: (range) => daysIn(range).length * barsPerDay(region, period),
  };
}

/** The time of a window before the oldest known bar of a symbol. */
interface OlderTime {
  /** The window ends at the known bar. */
  readonly window: TimeRange;
  /** The parts of the window without a response, ascending. */
  readonly uncovered: readonly TimeRange[];
}

/**
 * Where a request for older bars of some symbols begins. A response that is cut has the newest bars, so covered time
 * takes space in it before time that is not covered. Covered time that is common to all symbols and would fill a
 * response is not requested again; the time before it becomes a new request. This never needs more requests in total.
 *
 * @param most most bars of a symbol in one response, as far as it is known.
 * @returns the start of the first uncovered part that is requested.
 */
function olderBarsSince(times: readonly OlderTime[], most: number, bars: CoveredTime["bars"]): number {
  let since = Math.max(...times.map(({ window }) => window.end));
  for (const part of unionRanges(times.flatMap(({ uncovered }) => uncovered)).toReversed()) {
    if (part.end < since && bars({ start: part.end, end: since }) >= most) break;
    since = Math.min(since, part.start);
  }
  return since;
}

/** A symbol whose bars in a response begin later than expected, so that older bars of its window may be missing. */
export interface PossibleGap {
  readonly region: Region;
  readonly symbol: string;
  /** From the start of the window to the oldest known bar (exclusive). */
  readonly window: TimeRange;
  /** Where the follow-up request for the gap begins; covered time is not requested. */
  readonly since: number;
  /** Number of the symbol's bars in the response that began late, and the identifier of that response. */
  readonly rows: number;
  readonly source: string;
  /** Whether a cap seems to have cut the response. */
  readonly isUrgent: boolean;
  /** Number of follow-up requests that have not settled it. */
  readonly tries: number;
}

/**
 * Number of follow-up requests of a gap that also cover gaps with other ends. Each later request ends where its gap
 * ends.
 */
const SHARED_TRIES = 2;
/** Number of follow-up requests, with responses that are not about the symbol, after which a run abandons a gap. */
const MOST_TRIES = 6;

/** A request for bars: one of the plan, or a follow-up request for older bars or absent symbols. */
export interface Page {
  readonly region: Region;
  readonly symbols: readonly string[];
  readonly window: TimeRange;
  /** The gaps that a follow-up request should settle, by symbol; undefined for a request of the plan. */
  readonly gaps?: ReadonlyMap<string, PossibleGap>;
  /** Set for a second request for absent symbols: `all` of them, or `some` as a sample. */
  readonly again?: "all" | "some";
}

export interface SettledPart {
  readonly symbols: readonly string[];
  readonly window: TimeRange;
}

export interface SymbolWindow {
  readonly symbol: string;
  readonly window: TimeRange;
}

export interface Verdict {
  readonly settled: readonly SettledPart[];
  readonly gaps: readonly PossibleGap[];
  /** Requested time before covered time that no follow-up request covers. The next plan contains it. */
  readonly postponed: readonly SymbolWindow[];
  /** Gaps that were not settled by any follow-up request. */
  readonly abandoned: readonly PossibleGap[];
  /**
   * Earlier responses that a follow-up request has shown to be cut or complete, and their number of bars of a symbol.
   */
  readonly shown: readonly {
    readonly source: string;
    readonly rows: number;
    readonly wasCut: boolean;
  }[];
}

/**
 * Decides what a response settles. A window is settled for a symbol where its first session was seen, where nothing can
 * have been cut off before it, or where a request for older bars returned only the known bar. A response without that
 * bar is not about the symbol.
 *
 * @param beginnings where the bars of each symbol with bars begin.
 * @param open symbols for which the response settles nothing.
 * @param covered the time that earlier responses have settled, which is in no gap.
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
  const bySymbol = new Map(beginnings.map((one) => [one.symbol, one]));
  const settled = new PartsByWindow();
  const [gaps, abandoned, postponed]: [PossibleGap[], PossibleGap[], SymbolWindow[]] = [[], [], []];
  const shown: ShownResponse[] = [];
  const late: LateBeginning[] = [];
  for (const symbol of page.symbols) {
    if (open.has(symbol)) continue;
    const judged = judgeSymbol(page, symbol, bySymbol.get(symbol), isSuspect.has(symbol));
    if ("gap" in judged) (judged.kind === "repeated" ? gaps : abandoned).push(judged.gap);
    else {
      const { before, rows } = judged;
      settled.add(symbol, judged.settled);
      if (judged.shown !== undefined) shown.push(judged.shown);
      const uncovered = before.end > before.start ? covered.uncovered(symbol, before) : [];
      if (judged.kind === "late") late.push({ symbol, window: before, rows, uncovered });
      else postponed.push(...uncovered.map((window) => ({ symbol, window })));
    }
  }
  const most = Math.max(
    0,
    ...late.map(({ symbol, rows }) => Math.max(rows, page.gaps?.get(symbol)?.rows ?? 0)),
  );
  // Symbols that share the next request, too, are taken together: only time that is covered for all of them is skipped.
  const since = olderBarsSince(late, most, covered.bars);
  const isUrgent = cap.looksLikeCap(suspects);
  for (const { symbol, window, rows, uncovered } of late) {
    const requested = uncovered.filter(({ start }) => start >= since);
    const left = uncovered.slice(0, uncovered.length - requested.length);
    postponed.push(...left.map((one) => ({ symbol, window: one })));
    if (requested.length > 0)
      gaps.push({ region: page.region, symbol, window, since, rows, source, isUrgent, tries: 0 });
  }
  return { settled: settled.list, gaps, postponed, abandoned, shown };
}

type ShownResponse = Verdict["shown"][number];

/** A symbol whose bars begin late, and the time before them that is not settled. */
type LateBeginning = OlderTime & Pick<PossibleGap, "symbol" | "window" | "rows">;

/**
 * What a response shows about one symbol: nothing about the gap that it should settle, or where the symbol's bars
 * begin.
 */
type SymbolVerdict =
  | { readonly kind: "repeated" | "abandoned"; readonly gap: PossibleGap }
  | {
      /** `late`: the response may have been cut before the symbol's oldest bar. */
      readonly kind: "whole" | "late";
      readonly settled: TimeRange;
      /** The requested time before `settled`. */
      readonly before: TimeRange;
      readonly rows: number;
      /** What a follow-up request shows about the response that left the gap. */
      readonly shown: ShownResponse | undefined;
    };

/** @param began undefined where the symbol has no bar. @param isSuspect whether its bars may have been cut. */
function judgeSymbol(
  page: Page,
  symbol: string,
  began: SymbolBeginning | undefined,
  isSuspect: boolean,
): SymbolVerdict {
  const gap = page.gaps?.get(symbol);
  const whole = gap?.window ?? page.window;
  // A follow-up request may cover only the end of a gap.
  const window = { start: Math.max(whole.start, page.window.start), end: whole.end };
  const older = began !== undefined && began.oldest < window.end ? began : undefined;
  if (gap !== undefined) {
    const again = { ...gap, isUrgent: false, tries: gap.tries + 1 };
    const isAbout = began !== undefined && began.newest >= window.end;
    if (!isAbout)
      return gap.tries < MOST_TRIES ? { kind: "repeated", gap: again } : { kind: "abandoned", gap };
    // The part of the response after the gap counts only if the response itself was not cut.
    if (older === undefined && isSuspect && page.window.end !== window.end + 1)
      return { kind: "repeated", gap: again };
  }
  const isLate = older !== undefined && isSuspect && older.oldest > window.start;
  const start = isLate ? older.oldest : window.start;
  // If the page does not reach the start of the gap, the earlier response may have been cut before the page.
  const isShown = gap !== undefined && (older !== undefined || window.start === whole.start);
  return {
    kind: isLate ? "late" : "whole",
    settled: { start, end: window.end },
    before: { start: whole.start, end: start },
    rows: older?.rows ?? 0,
    shown: isShown ? { source: gap.source, rows: gap.rows, wasCut: older !== undefined } : undefined,
  };
}

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
 * The next follow-up requests for a list of gaps. Gaps in the same time range are requested together. Of several
 * requests for the same time only one is returned, because its response can settle the others.
 *
 * @param size most symbols of one request.
 */
export function nextFollowUps(
  gaps: readonly PossibleGap[],
  size: number,
): { readonly followUps: readonly Page[]; readonly left: readonly PossibleGap[] } {
  const groups = groupBy(gaps, ({ region, window, isUrgent, tries: made }) => {
    const end = isUrgent || made >= SHARED_TRIES ? window.end : "";
    return `${region} ${window.start} ${end}`;
  });
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
  // The oldest known bar is requested, too. It shows that the response is about the symbol.
  const all = [...gaps.values()];
  const end = Math.max(...all.map((gap) => gap.window.end)) + 1;
  const start = Math.min(...all.map(({ since }) => since));
  return { region, symbols: [...gaps.keys()].sort(), window: { start, end }, gaps };
}

/** Whether the region did not trade in the whole window of a gap. */
export function isExplained(gap: PossibleGap, closed: readonly TimeRange[]): boolean {
  return subtractRanges(gap.window, closed).length === 0;
}

/**
 * Most bars of one symbol that a plan expects in a response before the cap of the service was measured. The interface
 * documents 10,000, but one service was found to return at most 5,000 one-minute bars.
 */
export const ASSUMED_CAP: Readonly<Record<LandedPeriod, number>> = { "1d": LIMITS.maxCount, "1m": 5000 };

/** Number of responses that must be cut at the same number of bars before this number counts as a cap. */
const RESPONSES_OF_A_CAP = 2;

/**
 * The most bars of a symbol that a service returns, as learned from its responses. A service does not report that it
 * left something out.
 *
 * The cap only decides how long the planned windows are. It never proves that a response is complete: a service can
 * return fewer bars today than yesterday.
 */
export class RowCap {
  #cap: number | undefined;
  /** Number of responses that were cut, by the number of bars at which they were cut. */
  readonly #cuts = new Map<number, number>();
  /** Numbers of bars that seemed to be a cap, but were not. */
  readonly #cleared = new Set<number>();

  /** @param known the cap that was measured before. */
  constructor(known?: number) {
    this.#cap = known;
  }

  /** The cap, if it was measured. */
  get known(): number | undefined {
    return this.#cap;
  }

  /**
   * The symbols of a response that may lack older bars of the window.
   *
   * A symbol whose bars begin where the window's bars are expected to begin is complete, unless it has as many bars as
   * the cap. A symbol that begins late is complete only if another symbol in the same response has more bars, because a
   * cap cuts the symbols with the most bars first.
   */
  suspects<Rows extends SymbolRows>(response: readonly Rows[]): Rows[] {
    const most = response.reduce((max, { rows }) => Math.max(max, rows), 0);
    return response.filter(({ rows, beginsLate }) => this.#isFull(rows) || (beginsLate && rows === most));
  }

  /** Whether suspects seem to be cut by a cap. This is examined before more is requested. */
  looksLikeCap(suspects: readonly SymbolRows[]): boolean {
    const [first] = suspects;
    if (first === undefined) return false;
    return this.#isFull(first.rows) || (suspects.length > 1 && !this.#cleared.has(first.rows));
  }

  /**
   * Learns from a request for older bars whether an earlier response with `rows` bars of a symbol was cut. A cap can
   * only become lower. A single response may be incomplete for another reason, so two must agree, unless the number is
   * a known cap of services.
   */
  learn(rows: number, wasCut: boolean): void {
    if (!wasCut) {
      this.#cleared.add(rows);
      return;
    }
    const cuts = (this.#cuts.get(rows) ?? 0) + 1;
    this.#cuts.set(rows, cuts);
    const isUsual = Object.values(ASSUMED_CAP).includes(rows);
    if (isUsual || cuts >= RESPONSES_OF_A_CAP) this.#cap = Math.min(rows, this.#cap ?? rows);
  }

  /**
   * Whether a response with a number of bars may be cut: it has as many as the measured cap, or at least as many as the
   * documented one.
   */
  #isFull(rows: number): boolean {
    return rows === this.#cap || rows >= LIMITS.maxCount;
  }
}

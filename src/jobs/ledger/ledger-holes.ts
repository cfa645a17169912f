import { subtractRanges, type TimeRange } from "../../core/time.js";
import { type AbsenceReason, BARS_SET_ASIDE, waitAfter } from "../../plan/absence/absence.js";

/** A window in which a symbol lacks bars for a reason that may pass, and which no later response has closed. */
export interface Hole {
  readonly symbol: string;
  readonly window: TimeRange;
  readonly reason: AbsenceReason;
  /** Number of consecutive runs that found nothing. */
  readonly tries: number;
  /** When the last of these runs sent its request, and when the next request is due; epoch milliseconds. */
  readonly askedAt: number;
  readonly dueAt: number;
}

/** Holes by symbol. */
export type HolesBySymbol = ReadonlyMap<string, readonly Hole[]>;

/** What a response shows about a window of a symbol. */
export interface JudgedWindow {
  readonly symbol: string;
  readonly start: number;
  readonly end: number;
  readonly askedAt: number;
  /** Null where the response settled the window. */
  readonly reason: AbsenceReason | null;
}

/**
 * The holes that responses leave, by symbol. A later response about the same time closes a hole.
 *
 * @param judged ordered by symbol and request time; for each response, the windows with a reason come first.
 */
export function holesOf(judged: readonly JudgedWindow[]): HolesBySymbol {
  const holes = new Map<string, Hole[]>();
  for (const one of judged) holes.set(one.symbol, afterResponse(holes.get(one.symbol) ?? [], one));
  return holes;
}

/** The holes of a symbol after one more response. */
function afterResponse(
  holes: readonly Hole[],
  { symbol, start, end, askedAt, reason }: JudgedWindow,
): Hole[] {
  const range = { start, end };
  // The holes of a response are recorded with its settled windows, and have the same request time.
  const left = holes.flatMap((hole) =>
    hole.askedAt === askedAt
      ? [hole]
      : subtractRanges(hole.window, [range]).map((window) => ({ ...hole, window })),
  );
  if (reason === null) return left;
  const before = holes.filter(
    ({ window, askedAt: at }) => at < askedAt && window.start < end && window.end > start,
  );
  const tries = 1 + Math.max(0, ...before.map((hole) => hole.tries));
  return [
    ...left,
    { symbol, window: range, reason, tries, askedAt, dueAt: askedAt + waitAfter(tries, reason) },
  ];
}

/** The windows of holes in which nothing came when they were last requested, by symbol. */
export function emptyWindows(holes: HolesBySymbol): Map<string, readonly TimeRange[]> {
  const empty = new Map<string, readonly TimeRange[]>();
  for (const [symbol, own] of holes) {
    const windows = own.flatMap(({ reason, window }) => (reason === BARS_SET_ASIDE ? [] : [window]));
    if (windows.length > 0) empty.set(symbol, windows);
  }
  return empty;
}

/** Removes holes from covered windows. @param isOpen whether a hole counts. */
export function withoutHoles(
  covered: Map<string, TimeRange[]>,
  holes: HolesBySymbol,
  isOpen: (hole: Hole) => boolean,
): Map<string, TimeRange[]> {
  for (const [symbol, own] of holes) {
    const windows = covered.get(symbol);
    if (windows === undefined) continue;
    const open = own.filter(isOpen).map(({ window }) => window);
    covered.set(
      symbol,
      windows.flatMap((window) => subtractRanges(window, open)),
    );
  }
  return covered;
}

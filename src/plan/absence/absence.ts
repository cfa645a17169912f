import { DAY_MS } from "../../core/time.js";
import { LONGEST_HOLIDAY } from "../../market/trading-calendar.js";

/**
 * The reason of a window whose bars were received, but not landed. The ledger has a record for each such window, also where
 * the other bars of the same request have landed.
 */
export const BARS_SET_ASIDE = "set_aside";

/**
 * Why a symbol has no bar in a requested window.
 *
 * - `others_came`: the same response had bars of other symbols, and of requested symbols only, and the symbol did not
 *   trade up to the requested time.
 * - `not_yet`: the first bar of the symbol, or of its region, is after the window.
 * - `begins_late`: the symbol's first bar is after the window, although it was listed before the window ends.
 * - `ended`: the service no longer lists the symbol.
 * - `as_before`: an earlier response with other symbols, but without this one, covers the window; for statements: two
 *   earlier runs received no statement of any symbol, and the lake has none.
 * - `no_minutes`: the request was for minutes in a region for which services may have only daily bars, and the lake has
 *   no minutes of it. Of a universe: the lake has no minute of the member, and either its region is not China and the
 *   response had no bar of that region, or the universe was empty in at least three sessions.
 * - `no_session`: on a few days, many symbols or the index have no bars, and none of the days is known to be a session:
 *   the days count as a holiday.
 * - `suspended`: two requests returned no bar of a symbol that has bars before the window, and the same is true of few
 *   other symbols.
 * - `no_bars`: the lake has no bar of the symbol, but bars of its region in the window, and requests for the symbol
 *   brought nothing, unexplained, on at least three earlier days; or the lake has no minute of it, but minutes of its
 *   region from a later window, and two runs received nothing of the window.
 * - `unexplained`: none of these.
 * - `set_aside`: bars were received, but broke a rule and were not landed.
 */
export const ABSENCE_REASONS = [
  "others_came",
  "not_yet",
  "begins_late",
  "ended",
  "as_before",
  "no_minutes",
  "no_session",
  "suspended",
  "no_bars",
  "unexplained",
  BARS_SET_ASIDE,
] as const;
/** Why requested bars are absent; {@link ABSENCE_REASONS} explains the reasons. */
export type AbsenceReason = (typeof ABSENCE_REASONS)[number];

/**
 * Reasons that are only plausible, or that explain nothing. Windows with such a reason are requested again, each time
 * after a longer wait.
 */
export const ASKED_AGAIN_SOON: readonly AbsenceReason[] = [
  "begins_late",
  "no_minutes",
  "no_session",
  "suspended",
  "no_bars",
  "unexplained",
  BARS_SET_ASIDE,
];

/** Reasons that make a run incomplete. */
export const INCOMPLETE: ReadonlySet<string> = new Set<AbsenceReason>(["unexplained", BARS_SET_ASIDE]);

/** Days after which a window without bars of a symbol is requested again. */
export const REVISIT_DAYS = 30;

/** Number of days with requests that brought nothing, after which a symbol without any bar is taken to have none. */
const DAYS_OF_NONE = 3;
/**
 * Number of symbols whose bars show something about all: so many without a bar are not all suspended, and a day on which
 * none of so many has a bar had no session.
 */
export const MANY_SYMBOLS = 10;
/** A daily schedule may be due by up to this much earlier than on the day before. */
const EARLY_MS = DAY_MS / 4;

/**
 * Time before a window is requested again, in milliseconds: 1 day after the first run that found nothing, then 2, 4 and
 * so on up to {@link REVISIT_DAYS}, each a quarter of a day shorter. An unexplained window is requested again by the
 * next run, and then after 1 day.
 *
 * @param tries number of consecutive runs that found nothing; from 1.
 */
export function waitAfter(tries: number, reason: AbsenceReason): number {
  const doublings = INCOMPLETE.has(reason) ? tries - 2 : tries - 1;
  if (doublings < 0) return 0;
  return Math.min(REVISIT_DAYS, 2 ** doublings) * DAY_MS - EARLY_MS;
}

/** Facts about a symbol that has no bar in a window after two requests. */
export interface AbsenceFacts {
  /** Whether the service no longer lists the symbol. */
  readonly hasEnded: boolean;
  /** Whether the window was already empty in an earlier response that had other symbols. */
  readonly wasAbsent: boolean;
  /** Whether services may have no minutes of the region, and the lake has none. */
  readonly lacksMinutes: boolean;
  /** Whether the request was for minutes, and the service returned minutes of the region for a later window. */
  readonly isBeforeMinutes: boolean;
  /** Whether an earlier run requested the window, and nothing came. */
  readonly wasEmpty: boolean;
  /** Epoch milliseconds of the first bar of the symbol, and of the first bar of its region. */
  readonly firstBar: number | undefined;
  readonly firstOfRegion: number | undefined;
  /** Number of earlier days on which requests for the symbol brought nothing, and nothing explained that. */
  readonly daysOfNone: number;
  /** When the symbol was listed, where that is known; epoch milliseconds. */
  readonly listedAt: number | undefined;
  /** The window. */
  readonly start: number;
  readonly end: number;
  /** The number of trading days, as far as the calendar knows, of the time around it in which nothing came. */
  readonly days: number;
  /** Whether the lake's bars show that the region traded in the window. */
  readonly hasSession: boolean;
  /** Whether the lake has bars of the requested period in the window, of many other symbols of the region. */
  readonly othersCame: boolean;
  /** The symbols of the region without a bar in this window. */
  readonly absent: SymbolCount;
  /**
   * Those of them that have bars before the window, are still listed, and were not absent in an earlier response. A
   * symbol that a response with others lacked, with few others, counts alone.
   */
  readonly silent: SymbolCount;
}

/** A number of symbols of a region, and whether the region's index is one of them. */
export interface SymbolCount {
  readonly symbols: number;
  readonly hasIndex: boolean;
}

/** Whether symbols are too many to be suspended at the same time. An index is never suspended. */
export function areMany({ symbols, hasIndex }: SymbolCount): boolean {
  return symbols >= MANY_SYMBOLS || hasIndex;
}

/** Whether a symbol traded before a window, and the facts do not explain its absence in the window. */
export function isSilent({
  hasEnded,
  wasAbsent,
  firstBar,
  start,
}: Pick<AbsenceFacts, "hasEnded" | "wasAbsent" | "firstBar" | "start">): boolean {
  return !hasEnded && !wasAbsent && firstBar !== undefined && firstBar < start;
}

/** The reason of an absence that follows from the facts. */
export function explainAbsence(facts: AbsenceFacts): AbsenceReason {
  const { firstBar, firstOfRegion, end } = facts;
  if (facts.hasEnded) return "ended";
  if (facts.wasAbsent) return "as_before";
  if (facts.lacksMinutes) return "no_minutes";
  const isBefore = (first: number | undefined): boolean => first !== undefined && first >= end;
  if (isBefore(firstOfRegion)) return "not_yet";
  if (isBefore(firstBar)) return isBefore(facts.listedAt ?? firstBar) ? "not_yet" : "begins_late";
  const isHoliday = facts.days <= LONGEST_HOLIDAY && !facts.hasSession;
  if (isHoliday && areMany(facts.absent)) return "no_session";
  // Bars of others show that the service has such bars. Without these rules, each new day, or each run, would be unexplained.
  const isKnown = facts.othersCame && facts.daysOfNone >= DAYS_OF_NONE;
  if (firstBar === undefined && (isKnown || (facts.isBeforeMinutes && facts.wasEmpty))) return "no_bars";
  if (!isSilent(facts)) return "unexplained";
  // Many symbols that traded before do not all stop at once while the region trades. But services have minutes of some
  // years only. That a later window has minutes shows that this one is no outage.
  return areMany(facts.silent) && !facts.isBeforeMinutes ? "unexplained" : "suspended";
}

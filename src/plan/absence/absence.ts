import { DAY_MS } from "../../core/time.js";
import { LONGEST_HOLIDAY } from "../../market/trading-calendar.js";

/**
 * Why a symbol has no bar in a requested window.
 *
 * - `others_came`: the same response had bars of other symbols, and of requested symbols only.
 * - `not_yet`: the first bar of the symbol, or of its region, is after the window.
 * - `begins_late`: the symbol's first bar is after the window, although it was listed before the window ends.
 * - `ended`: the service no longer lists the symbol.
 * - `as_before`: an earlier response with other symbols, but without this one, covers the window; of statements: two
 *   earlier runs received none of any symbol, and the lake has none.
 * - `no_minutes`: minutes of a region for which services have only daily bars, and the lake has no minutes either.
 * - `no_session`: a few days without bars of many symbols, or of the index: they count as a holiday.
 * - `suspended`: two requests brought no bar of a symbol that has bars before the window.
 * - `unexplained`: none of these.
 * - `set_aside`: bars came, but were not good enough to be landed.
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
  "unexplained",
  "set_aside",
] as const;
/** Why bars that were requested are absent; {@link ABSENCE_REASONS} explains each. */
export type AbsenceReason = (typeof ABSENCE_REASONS)[number];

/** Reasons that are only plausible, or that explain nothing: such windows are requested again, each time after a longer wait. */
export const ASKED_AGAIN_SOON: readonly AbsenceReason[] = [
  "begins_late",
  "no_minutes",
  "no_session",
  "suspended",
  "unexplained",
  "set_aside",
];

/** Reasons that make a run incomplete. */
export const INCOMPLETE: ReadonlySet<string> = new Set<AbsenceReason>(["unexplained", "set_aside"]);

/** Days after which a window without bars of a symbol is requested again. */
export const REVISIT_DAYS = 30;

/** Number of symbols that is enough to recognize a holiday. */
const MANY_SYMBOLS = 10;
/** A daily schedule may be due a little earlier on one day than on the day before. */
const EARLY_MS = DAY_MS / 4;

/**
 * Time before a window is requested again, in milliseconds: 1 day after the first run that found nothing, then 2, 4 and
 * so on up to {@link REVISIT_DAYS}, each a quarter of a day shorter. An unexplained window is requested by the next run
 * at once, and then after 1 day.
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
  /** Whether the window was empty before, in a response in which other symbols came. */
  readonly wasAbsent: boolean;
  /** Whether services have no minutes of the region, and the lake has none. */
  readonly lacksMinutes: boolean;
  /** Epoch milliseconds of the symbol's first bar, and of the first one of its region. */
  readonly firstBar: number | undefined;
  readonly firstOfRegion: number | undefined;
  /** When the symbol was listed, where that is known; epoch milliseconds. */
  readonly listedAt: number | undefined;
  /** The window, and its trading days as far as the calendar knows. */
  readonly start: number;
  readonly end: number;
  readonly days: number;
  /** Number of the region's symbols without a bar in this window, and whether the region's index is one of them. */
  readonly symbols: number;
  readonly hasIndex: boolean;
}

/** Explains an absence as far as possible. */
export function explainAbsence(facts: AbsenceFacts): AbsenceReason {
  const { firstBar, firstOfRegion, start, end } = facts;
  if (facts.hasEnded) return "ended";
  if (facts.wasAbsent) return "as_before";
  if (facts.lacksMinutes) return "no_minutes";
  const isBefore = (first: number | undefined): boolean => first !== undefined && first >= end;
  if (isBefore(firstOfRegion)) return "not_yet";
  if (isBefore(firstBar)) return isBefore(facts.listedAt ?? firstBar) ? "not_yet" : "begins_late";
  const isMany = facts.symbols >= MANY_SYMBOLS || facts.hasIndex;
  if (facts.days <= LONGEST_HOLIDAY && isMany) return "no_session";
  return firstBar !== undefined && firstBar < start ? "suspended" : "unexplained";
}

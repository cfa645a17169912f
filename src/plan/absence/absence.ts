import { DAY_MS } from "../../core/time.js";

/**
 * Why a symbol has no bar in a window that it was asked for.
 *
 * - `others_came`: the same response had bars of other symbols, and of none that nobody asked for.
 * - `not_yet`: the symbol, or its region, has bars after the window and none before its end.
 * - `begins_late`: so has the symbol, though it was listed before the window ends.
 * - `ended`: the service lists the symbol no more.
 * - `as_before`: an earlier response without it, in which others came, covers the window.
 * - `no_minutes`: minutes of a region of which services have daily bars alone, and of which the lake has none either.
 * - `no_session`: a few days on which nothing came of many symbols, or of the index: it is taken for a holiday.
 * - `suspended`: nothing came, twice, of a symbol that has bars before the window.
 * - `unexplained`: none of these.
 * - `set_aside`: bars came, and were not good enough to be landed.
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
export type AbsenceReason = (typeof ABSENCE_REASONS)[number];

/** Reasons that are no more than plausible, or are none: such windows are asked for again after waits that grow. */
export const ASKED_AGAIN_SOON: readonly AbsenceReason[] = [
  "begins_late",
  "no_minutes",
  "no_session",
  "suspended",
  "unexplained",
  "set_aside",
];

/** Reasons with which a run is not complete. */
export const INCOMPLETE: ReadonlySet<string> = new Set<AbsenceReason>(["unexplained", "set_aside"]);

/** Days after which a window in which a symbol was absent is asked for again. */
export const REVISIT_DAYS = 30;

/** Trading days that a holiday lasts at most, by a calendar that does not know it: eight weekdays in China. */
const LONGEST_HOLIDAY = 8;
/** Symbols that are enough to tell a holiday by. */
const MANY_SYMBOLS = 10;
/** A schedule that runs once a day is due a little earlier on one day than on another. */
const EARLY_MS = DAY_MS / 4;

/**
 * Time that passes before a window is asked for again, in milliseconds: 1 day after the first run that found nothing, then
 * 2, 4 and so on up to {@link REVISIT_DAYS}. Where nothing is explained the next run asks at once, and then it is 1 day.
 *
 * @param looks runs that found nothing, one after the other; from 1.
 */
export function waitAfter(looks: number, reason: AbsenceReason): number {
  const doublings = INCOMPLETE.has(reason) ? looks - 2 : looks - 1;
  if (doublings < 0) return 0;
  return Math.min(REVISIT_DAYS, 2 ** doublings) * DAY_MS - EARLY_MS;
}

/** What is known of a symbol of which nothing came in a window, though it was looked at twice. */
export interface AbsenceFacts {
  /** Whether the service lists the symbol no more. */
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
  /** Symbols of the region of which nothing came in this window, and whether the region's index is one. */
  readonly symbols: number;
  readonly hasIndex: boolean;
}

/** Explains an absence, as far as that can be. */
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

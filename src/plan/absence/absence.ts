import { DAY_MS, type TimeRange } from "../../core/time.js";
import type { Region } from "../../market/regions.js";
import { LONGEST_HOLIDAY } from "../../market/trading-calendar.js";
import { ABSENCE_REASONS, type AbsenceReason } from "../../schema/runs.js";
import { inBatches } from "../request-units.js";
import type { Page } from "./older-bars.js";

interface ReasonRule {
  /**
   * Whether later runs believe it. `settled`: for {@link REVISIT_DAYS}. `passing`: it is only plausible, and the window is
   * requested again soon, each time after a longer wait. `open`: it explains nothing; the run is incomplete, and the next one
   * requests the window.
   */
  readonly lasts: "settled" | "passing" | "open";
  /** Whether a response vouches for it that the symbol did not trade on the days of the window. */
  readonly vouches: boolean;
  readonly says: string;
}

/**
 * Why a symbol has no bar in a requested window.
 *
 * - `others_came`: this response, or an earlier one that covers the window, had bars of other symbols, and of requested
 *   symbols only, and the symbol did not trade up to the requested time.
 * - `not_yet`: the first bar of the region is after the window, or that of the symbol, which was not listed in the window.
 * - `ended`: the service no longer lists the symbol.
 * - `no_session`: on a few days, many symbols or the index have no bars, and none of the days is known to be a session:
 *   the days count as a holiday.
 * - `suspended`: two requests returned no bar of a symbol that has bars before the window, and the same is true of few
 *   other symbols.
 * - `unavailable`: the service lists the symbol, and seems to have no such bars. The symbol's first bar is after the window,
 *   in which it was listed; the request was for minutes in a region of which services may have only daily bars, and the lake
 *   has no minutes of it; the lake has no bar of the symbol, but bars of its region in the window, and requests for it brought
 *   nothing on at least three earlier days; the lake has no minute of it, but minutes of its region from a later window, and
 *   two runs received nothing of the window. Of a universe: the lake has no minute of the member, and either its region is not
 *   China and the response had no bar of that region, or the universe was empty in at least three sessions. Of statements: two
 *   earlier runs received none of any symbol, and the lake has none.
 * - `unexplained`: none of these.
 * - `set_aside`: bars were received, but broke a rule and were not landed. The ledger has a record for each such window, also
 *   where the other bars of the same request have landed.
 */
export const REASON_RULES: Readonly<Record<AbsenceReason, ReasonRule>> = {
  others_came: { lasts: "settled", vouches: true, says: "not in a response that had the others" },
  not_yet: { lasts: "settled", vouches: false, says: "before the first bar" },
  ended: { lasts: "settled", vouches: false, says: "no longer listed" },
  no_session: { lasts: "passing", vouches: false, says: "no bar of any symbol, taken for a holiday" },
  suspended: { lasts: "passing", vouches: true, says: "taken for suspended" },
  unavailable: { lasts: "passing", vouches: false, says: "of which the service seems to have none" },
  unexplained: { lasts: "open", vouches: false, says: "unexplained" },
  set_aside: { lasts: "open", vouches: false, says: "set aside" },
};

/** Reasons under the names that ledgers of earlier versions have. */
export const FORMER_REASONS: Readonly<Record<string, AbsenceReason>> = {
  as_before: "others_came",
  begins_late: "unavailable",
  no_bars: "unavailable",
  no_minutes: "unavailable",
};

export function reasonsThat(has: (rule: ReasonRule) => boolean): AbsenceReason[] {
  return ABSENCE_REASONS.filter((reason) => has(REASON_RULES[reason]));
}

/** Reasons because of which a window is requested again before {@link REVISIT_DAYS}. */
export const ASKED_AGAIN_SOON = reasonsThat(({ lasts }) => lasts !== "settled");

/** Whether a reason explains nothing, so that a run with it is incomplete. */
export function isOpen(reason: AbsenceReason): boolean {
  return REASON_RULES[reason].lasts === "open";
}

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
  const doublings = isOpen(reason) ? tries - 2 : tries - 1;
  if (doublings < 0) return 0;
  return Math.min(REVISIT_DAYS, 2 ** doublings) * DAY_MS - EARLY_MS;
}

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

export function explainAbsence(facts: AbsenceFacts): AbsenceReason {
  const { firstBar, firstOfRegion, end } = facts;
  if (facts.hasEnded) return "ended";
  if (facts.wasAbsent) return "others_came";
  if (facts.lacksMinutes) return "unavailable";
  const isBefore = (first: number | undefined): boolean => first !== undefined && first >= end;
  if (isBefore(firstOfRegion)) return "not_yet";
  if (isBefore(firstBar)) return isBefore(facts.listedAt ?? firstBar) ? "not_yet" : "unavailable";
  const isHoliday = facts.days <= LONGEST_HOLIDAY && !facts.hasSession;
  if (isHoliday && areMany(facts.absent)) return "no_session";
  // Bars of others show that the service has such bars. Without these rules, each new day, or each run, would be unexplained.
  const isKnown = facts.othersCame && facts.daysOfNone >= DAYS_OF_NONE;
  if (firstBar === undefined && (isKnown || (facts.isBeforeMinutes && facts.wasEmpty))) return "unavailable";
  if (!isSilent(facts)) return "unexplained";
  // Many symbols that traded before do not all stop at once while the region trades. But services have minutes of some
  // years only. That a later window has minutes shows that this one is no outage.
  return areMany(facts.silent) && !facts.isBeforeMinutes ? "unexplained" : "suspended";
}

export interface AbsentGroup {
  readonly region: Region;
  readonly window: TimeRange;
  readonly symbols: readonly string[];
}

/** What a response shows about requested symbols that it does not contain. */
export interface AbsenceVerdict {
  /** Symbols that are absent: the response had other symbols, and only requested ones. */
  readonly confirmed: readonly string[];
  readonly unconfirmed: readonly string[];
  /** Those of the unconfirmed symbols that the response would confirm if they had not traded up to now. */
  readonly silent: readonly string[];
}

/**
 * Judges symbols that are not in a response. A response without any bar shows nothing about them. Neither does a
 * response with bars of a symbol that was not requested: that symbol may be in the place of a requested one. Nor is one
 * response enough for a symbol that traded up to the requested time.
 *
 * @param traded symbols that traded up to the requested time.
 */
export function judgeAbsence(
  absent: readonly string[],
  {
    present,
    hasStrangers,
    traded,
  }: {
    readonly present: number;
    readonly hasStrangers: boolean;
    readonly traded?: ReadonlySet<string> | undefined;
  },
): AbsenceVerdict {
  if (present === 0 || hasStrangers) return { confirmed: [], unconfirmed: absent, silent: [] };
  const silent = absent.filter((symbol) => traded?.has(symbol) === true);
  const confirmed = absent.filter((symbol) => traded?.has(symbol) !== true);
  return { confirmed, unconfirmed: silent, silent };
}

/**
 * Symbols that are requested a second time, because they had no bars for no known reason. If a whole response was
 * empty, one request for some of its symbols is sufficient to see whether the window is empty for all.
 */
export class AbsentSymbols {
  /** Groups of responses without any bar, by region and window. */
  #empty = new Map<string, AbsentGroup>();
  /** Symbols of which all are requested again. */
  #single = new Map<string, AbsentGroup>();
  /** Symbols that had no bars after two requests. */
  readonly #unseen = new Map<string, AbsentGroup>();

  get isEmpty(): boolean {
    return this.#empty.size + this.#single.size === 0;
  }

  /** Removes and returns the groups that had no bars after the second request. */
  takeUnseen(): AbsentGroup[] {
    const groups = [...this.#unseen.values()];
    this.#unseen.clear();
    return groups;
  }

  /** Adds symbols that a response lacks. @param hasOthers whether the response had bars of other symbols. */
  add(group: AbsentGroup, hasOthers: boolean): void {
    addTo(hasOthers ? this.#single : this.#empty, group);
  }

  addUnseen(group: AbsentGroup): void {
    addTo(this.#unseen, group);
  }

  /**
   * Removes and returns the requests that are to be sent now.
   *
   * @param size most symbols of one request.
   * @param isProbed whether one empty window of a region is enough to judge its other empty windows.
   */
  takeFollowUps(size: number, isProbed: (region: Region) => boolean): Page[] {
    const followUps: Page[] = [];
    for (const { region, window, symbols } of this.#single.values()) {
      for (const some of inBatches(symbols, size))
        followUps.push({ region, window, symbols: some, again: "all" });
    }
    const probed = new Set<Region>();
    for (const { region, window, symbols } of this.#empty.values()) {
      if (probed.has(region)) continue;
      followUps.push({ region, window, symbols: spread(symbols, size), again: "some" });
      if (isProbed(region)) probed.add(region);
    }
    this.#single = new Map();
    return followUps;
  }

  /** Records the response to a request for some symbols of an empty window. @param present symbols with bars in it. */
  seen(followUp: Page, present: ReadonlySet<string>): void {
    const key = keyOf(followUp);
    const group = this.#empty.get(key);
    if (group === undefined) return;
    this.#empty.delete(key);
    if (present.size === 0) return this.addUnseen(group);
    const asked = new Set(followUp.symbols);
    const symbols = group.symbols.filter((symbol) => !asked.has(symbol));
    if (symbols.length > 0) addTo(this.#single, { ...group, symbols });
  }

  /** Counts all empty windows of a region as requested twice, because the region has no bars. */
  closeRegion(region: Region): void {
    for (const [key, group] of this.#empty) {
      if (group.region !== region) continue;
      this.#empty.delete(key);
      this.addUnseen(group);
    }
  }

  /** Drops a follow-up request that failed. Its symbols are left to the next run. */
  drop(followUp: Page): void {
    if (followUp.again === "some") this.#empty.delete(keyOf(followUp));
  }
}

/** A text that is the same for equal regions and windows. */
export function keyOf({ region, window }: Pick<AbsentGroup, "region" | "window">): string {
  return `${region} ${window.start} ${window.end}`;
}

function addTo(groups: Map<string, AbsentGroup>, group: AbsentGroup): void {
  const known = groups.get(keyOf(group))?.symbols ?? [];
  const symbols = [...new Set([...known, ...group.symbols])].sort();
  groups.set(keyOf(group), { ...group, symbols });
}

/** Up to `size` symbols, evenly distributed over the list. */
function spread(symbols: readonly string[], size: number): string[] {
  if (symbols.length <= size) return [...symbols];
  return Array.from({ length: size }, (_, n) => symbols[Math.floor((n * symbols.length) / size)] as string);
}

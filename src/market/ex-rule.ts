import { lowerBound } from "../core/lower-bound.js";
import type { IsHole } from "./holes.js";
import type { Region } from "./regions.js";

/** A day on which the exchange restated the previous close: a dividend, a split, a rights issue. */
export interface ExEvent {
  /** The ex-date, in days since 1970-01-01. */
  readonly day: number;
  /** Close of the previous bar, divided by the previous close that the exchange states. */
  readonly factor: number;
  /** As {@link factor}, but the difference. */
  readonly amount: number;
}

/** The least relative difference of the two closes that makes an ex-event. Smaller differences are rounding errors. */
export const LEAST_EX_CHANGE = 1e-9;

/**
 * {@link ExEvent.factor} where a day is an ex-date, else 1. Closes that are not positive finite numbers are unknown.
 */
export function exFactor(lastClose: number, prevClose: number): number {
  if (!(prevClose > 0 && prevClose < Number.POSITIVE_INFINITY && lastClose > 0)) return 1;
  const factor = lastClose / prevClose;
  return Number.isFinite(factor) && Math.abs(factor - 1) >= LEAST_EX_CHANGE ? factor : 1;
}

/**
 * What sources say of a symbol's ex-dates: the close of the session before, at the new price level, is (close + paid) /
 * shares. See `exTermsSql`.
 */
export interface ExTerms {
  /** The ex-dates, ascending, in days since 1970-01-01. */
  readonly days: Int32Array;
  /** Shares for one held before; of a factor the factor. */
  readonly shares: Float64Array;
  /** What the holder of one share pays for rights, less the cash that it gets, in the currency of the prices. */
  readonly paid: Float64Array;
  /** Who says so: equal for equal witnesses and sources. */
  readonly tellers: Int32Array;
}

/** What decides where the price level of a symbol changes, in addition to its bars. */
export interface ExRule {
  readonly terms: ExTerms;
  readonly isHole: IsHole;
  /** Whether the calendar has a session between two days. */
  readonly hasSession: (last: number, day: number) => boolean;
}

export type ExRuleOf = (one: { readonly symbol: string; readonly region: Region }) => ExRule;

/** A symbol of which no source says anything. */
export const NO_TERMS: ExTerms = {
  days: new Int32Array(),
  shares: new Float64Array(),
  paid: new Float64Array(),
  tellers: new Int32Array(),
};

export function termAfter({ days }: ExTerms, day: number): number {
  return lowerBound(0, days.length, (at) => (days[at] as number) > day);
}

/** A bar, and the one of the same symbol before it. */
interface BarPair {
  /** The days of both, since 1970-01-01. */
  readonly last: number;
  readonly day: number;
  /** Close of the bar before; NaN where there is none. */
  readonly lastClose: number;
  /** Previous close as the exchange states it; NaN where it states none. */
  readonly prevClose: number;
}

/** The close of the bar before, divided by and minus that close at the price level of the bar. */
interface ExChange {
  readonly factor: number;
  readonly amount: number;
}

/**
 * The ex-event of a bar, by the rule of the view `ex_events`. What sources say counts, one term after the other; else the
 * previous close that the exchange states. Where no session lies between the bars, terms of several days are of one session, of
 * which the last day is the date: those of its source count, and not the same event again with a holiday as its date. Over a
 * hole, where the close of the session before is not known, only shares count: no cash, and no rights, of whose shares a part is
 * paid for.
 *
 * @param first index of the first term after the bar before.
 * @returns undefined where nothing shows another level.
 */
export function exChange(
  { terms, isHole, hasSession }: ExRule,
  first: number,
  { last, day, lastClose, prevClose }: BarPair,
): ExChange | undefined {
  const isTold = (terms.days[first] ?? Number.POSITIVE_INFINITY) <= day;
  if (isTold) {
    const end = termAfter(terms, day);
    const isOne = end - first === 1;
    const hasHole = (!isOne || terms.paid[first] !== 0) && isHole(last, day);
    const ofOneSession = !isOne && !hasHole && !hasSession(last, day);
    let [shares, paid] = [1, 0];
    for (let at = first; at < end; at++) {
      const own = terms.paid[at] as number;
      if (hasHole && own > 0) continue;
      if (ofOneSession && terms.tellers[at] !== terms.tellers[end - 1]) continue;
      paid += hasHole ? 0 : own * shares;
      shares *= terms.shares[at] as number;
    }
    const close = (lastClose + paid) / shares;
    if (close > 0 && close < Number.POSITIVE_INFINITY) {
      const factor = exFactor(lastClose, close);
      return factor === 1 ? undefined : { factor: paid === 0 ? shares : factor, amount: lastClose - close };
    }
  }
  const factor = exFactor(lastClose, prevClose);
  if (factor === 1 || isHole(last, day)) return undefined;
  return { factor, amount: lastClose - prevClose };
}

import { dateOfEpochDay, type TradingDate } from "../../core/time.js";
import { currencyOfRegion } from "../../market/regions.js";
import type { ActionKind } from "../../schema/actions.js";
import { dayTick, type SimInstrument } from "../instrument.js";
import { daysBetween, instrumentsOf, type MarketState } from "../market-state.js";
import { integer, uniform } from "../random.js";
import type { RegionCalendar } from "../trading-days.js";
import { DAY_KIND, dayKeyOf, type ExEvent } from "./price-path.js";

/** What an action gives for one share held before it, as the table of corporate actions has it. */
interface Terms {
  readonly kind: ActionKind;
  readonly cash?: number;
  readonly ratio?: number;
  readonly price?: number;
}

export interface ActionVersion extends Terms {
  readonly symbol: string;
  readonly ex_date: TradingDate;
  readonly currency: string;
  readonly announce_date: TradingDate;
  readonly record_date: TradingDate;
  readonly pay_date: TradingDate;
  /** The date from which this version is known: the announcement, or a correction of it. */
  readonly firstSeen: TradingDate;
}

/** Draws of the key of an event's day. */
const DRAW = { kind: 70, ratio: 71, announced: 72, paid: 73, isCorrected: 74, corrected: 75 } as const;

/** Share of payouts that are rights, and that are spin-offs: those of stocks. */
const RIGHTS = 0.06;
const SPIN_OFFS = 0.04;
/** Share of actions with cash or a price that are announced with a wrong one. */
const CORRECTED = 0.06;

export function listActions(state: MarketState, symbols: readonly string[]): ActionVersion[] {
  return instrumentsOf(state, symbols).flatMap((instrument) => {
    const calendar = state.calendars[instrument.region];
    return state
      .pathOf(instrument)
      .events.flatMap((event) => versionsOf(instrument, calendar, event))
      .filter(({ firstSeen }) => firstSeen <= state.spec.end);
  });
}

/**
 * Prices are in thousandths of the currency. What is left of the last close after the split is paid out; where that is
 * no more than the rounding of prev_close, nothing is.
 */
function termsOf({ board }: SimInstrument, dayKey: number, event: ExEvent): Terms[] {
  const { lastCloseMilli: last, referenceMilli: reference, splitRatio } = event;
  const paid = last - splitRatio * reference;
  if (splitRatio !== 1) {
    const cash: Terms[] =
      2 * paid > splitRatio * dayTick(board, reference)
        ? [{ kind: "cash_dividend", cash: Math.round(paid) / 1000 }]
        : [];
    if (splitRatio < 1) return [{ kind: "consolidation", ratio: splitRatio }, ...cash];
    const isBonus = board.region === "CN" && board.type === "stock";
    if (!isBonus) return [{ kind: "split", ratio: splitRatio }, ...cash];
    return [{ kind: "stock_dividend", ratio: Math.round((splitRatio - 1) * 10) / 10 }, ...cash];
  }
  const draw = uniform(dayKey, DRAW.kind);
  if (board.type === "stock" && draw < RIGHTS) {
    const ratio = [0.2, 0.25, 0.3][integer(dayKey, DRAW.ratio, 3)] as number;
    // The theoretical price (last + ratio x price) / (1 + ratio) is prev_close.
    const price = Math.round((reference * (1 + ratio) - last) / ratio / 10) / 100;
    return [{ kind: "rights", ratio, price }];
  }
  if (board.type === "stock" && draw < RIGHTS + SPIN_OFFS) {
    const ratio = [0.05, 0.1, 0.2][integer(dayKey, DRAW.ratio, 3)] as number;
    return [{ kind: "spin_off", ratio, price: Math.round(paid / ratio) / 1000 }];
  }
  return [{ kind: "cash_dividend", cash: paid / 1000 }];
}

function versionsOf(instrument: SimInstrument, calendar: RegionCalendar, event: ExEvent): ActionVersion[] {
  const { symbol, region } = instrument;
  const { dayIndex } = event;
  const dayKey = dayKeyOf(instrument, calendar, dayIndex);
  const day = calendar.epochDays[dayIndex] as number;
  const dayAt = (index: number): TradingDate =>
    dateOfEpochDay(calendar.epochDays[index] ?? day + index - dayIndex);
  const announced = day - 10 - integer(dayKey, DRAW.announced, 40);
  const dates = {
    ex_date: dayAt(dayIndex),
    announce_date: dateOfEpochDay(announced),
    // Shares settle on the day of the trade in Shanghai, a day later in New York, two in Hong Kong.
    record_date: dayAt(dayIndex + { CN: -1, US: 0, HK: 1 }[region]),
    pay_date: dateOfEpochDay(region === "CN" ? day : day + 10 + integer(dayKey, DRAW.paid, 20)),
  };
  const known = { symbol, currency: currencyOfRegion(region), ...dates };
  return termsOf(instrument, dayKey, event).flatMap((terms) => {
    const first: ActionVersion = { ...known, ...terms, firstSeen: dates.announce_date };
    const wrong = uniform(dayKey, DRAW.isCorrected) < CORRECTED ? announcedWrongly(terms) : undefined;
    if (wrong === undefined) return [first];
    // Most corrections come before the ex-date, some after it.
    const seen = announced + 1 + integer(dayKey, DRAW.corrected, day - announced + 5);
    return [
      { ...first, ...wrong },
      { ...first, firstSeen: dateOfEpochDay(seen) },
    ];
  });
}

/** An action with a tenth more cash, or a price higher by that; undefined where it has neither. */
function announcedWrongly(terms: Terms): Terms | undefined {
  const more = (value: number): number => Math.ceil(value * 1100) / 1000;
  if (terms.cash !== undefined) return { ...terms, cash: more(terms.cash) };
  return terms.price === undefined ? undefined : { ...terms, price: more(terms.price) };
}

/** Consecutive sessions without a bar of a symbol: the first day, and the day after the last one, since 1970-01-01. */
export interface AbsentStretch {
  readonly symbol: string;
  readonly first: number;
  readonly end: number;
}

export function listAbsences(
  state: MarketState,
  symbols: readonly string[],
  from: TradingDate,
  to: TradingDate,
): AbsentStretch[] {
  return instrumentsOf(state, symbols).flatMap((instrument) => {
    const { symbol, region } = instrument;
    const { epochDays } = state.calendars[region];
    const { kind } = state.pathOf(instrument);
    const { start, end } = daysBetween(state, instrument, from, to);
    const isAbsent = (day: number): boolean => kind[day - instrument.start] === DAY_KIND.suspendedAbsent;
    const stretches: AbsentStretch[] = [];
    for (let day = start; day < end; day++) {
      if (!isAbsent(day)) continue;
      const first = epochDays[day] as number;
      while (day + 1 < end && isAbsent(day + 1)) day++;
      stretches.push({ symbol, first, end: (epochDays[day] as number) + 1 });
    }
    return stretches;
  });
}

export interface ExFactor {
  readonly symbol: string;
  /** First trading date without the payout. */
  readonly date: TradingDate;
  /** Local midnight of the date, epoch milliseconds. */
  readonly timestampMs: number;
  /** Close of the previous day / prev_close of the ex-date. */
  readonly factor: number;
}

export function listExFactors(
  state: MarketState,
  symbols: readonly string[],
  from: TradingDate,
  to: TradingDate,
): ExFactor[] {
  return instrumentsOf(state, symbols).flatMap((instrument) => {
    const { dates, midnights } = state.calendars[instrument.region];
    return state
      .pathOf(instrument)
      .events.map(({ dayIndex, lastCloseMilli, referenceMilli }) => ({
        symbol: instrument.symbol,
        date: dates[dayIndex] as TradingDate,
        timestampMs: midnights[dayIndex] as number,
        factor: lastCloseMilli / referenceMilli,
      }))
      .filter(({ date }) => from <= date && date <= to);
  });
}

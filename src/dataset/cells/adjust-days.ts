import { type ExRule, exChange, termAfter } from "../../market/ex-rule.js";

/** The rows with which symbols' factors have changed; those of one symbol are in the order of their days. */
interface FactorChanges {
  /** Index of the row's symbol in the state. */
  readonly symbol: number[];
  /** The date of the row, and of the symbol's row before it, as days since 1970-01-01. */
  readonly day: number[];
  readonly dayBefore: number[];
  /** The factor from this row on. */
  readonly factor: number[];
}

export interface FactorState {
  /** Of each symbol. */
  readonly rules: readonly ExRule[];
  readonly lastDay: Int32Array;
  readonly lastClose: Float64Array;
  readonly factor: Float64Array;
  readonly changes: FactorChanges;
}

/** Some daily rows with prices as traded. A missing price is NaN. */
interface DailyPrices {
  readonly rows: number;
  /** Index of the row's symbol in the state, negative if it is not in it; and the date as days since 1970-01-01. */
  readonly symbol: Int32Array;
  readonly day: Int32Array;
  readonly close: Float64Array;
  readonly prevClose: Float64Array;
}

export function firstFactors(rules: readonly ExRule[]): FactorState {
  const symbols = rules.length;
  return {
    rules,
    lastDay: new Int32Array(symbols).fill(-0x80000000),
    lastClose: new Float64Array(symbols).fill(Number.NaN),
    factor: new Float64Array(symbols).fill(1),
    changes: { symbol: [], day: [], dayBefore: [], factor: [] },
  };
}

/** A copy of the state of some consecutive symbols. @param end exclusive. */
export function factorsOf(
  { rules, lastDay, lastClose, factor, changes }: FactorState,
  start: number,
  end: number,
): FactorState {
  const part: FactorState = {
    rules: rules.slice(start, end),
    lastDay: lastDay.slice(start, end),
    lastClose: lastClose.slice(start, end),
    factor: factor.slice(start, end),
    changes: { symbol: [], day: [], dayBefore: [], factor: [] },
  };
  addChanges(part.changes, changes, start, end);
  return part;
}

/** Adds the changes of some consecutive symbols, whose indexes then begin with `offset`. @param end exclusive. */
export function addChanges(
  to: FactorChanges,
  from: FactorChanges,
  start: number,
  end: number,
  offset = 0,
): void {
  for (let at = 0; at < from.symbol.length; at++) {
    const s = from.symbol[at] as number;
    if (s < start || s >= end) continue;
    to.symbol.push(s - start + offset);
    to.day.push(from.day[at] as number);
    to.dayBefore.push(from.dayBefore[at] as number);
    to.factor.push(from.factor[at] as number);
  }
}

/**
 * Computes each row's factor for backward adjustment: the product, from a symbol's first row on, of the factors of its
 * ex-events, by the rule of the view `ex_events`, in the order of the macro `adjustment_steps`. It does not depend on
 * later rows. `state` is updated. @returns false where a symbol's days do not ascend: the factors are then invalid.
 */
export function backwardFactors(
  { rows, symbol, day, close, prevClose }: DailyPrices,
  { rules, lastDay, lastClose, factor, changes }: FactorState,
  factors: Float64Array,
): boolean {
  // The state of the symbol of the rows before, as rows of one symbol follow each other.
  let own = -1;
  let [before, last, product] = [0, 0, 1];
  /** The next term of its rule, and its day. */
  let [term, exDate] = [0, Number.POSITIVE_INFINITY];
  for (let row = 0; row < rows; row++) {
    const s = symbol[row] as number;
    if (s < 0) continue;
    if (s !== own) {
      if (own >= 0) {
        lastDay[own] = before;
        lastClose[own] = last;
        factor[own] = product;
      }
      own = s;
      before = lastDay[s] as number;
      last = lastClose[s] as number;
      product = factor[s] as number;
      const { terms } = rules[s] as ExRule;
      term = termAfter(terms, before);
      exDate = terms.days[term] ?? Number.POSITIVE_INFINITY;
    }
    const today = day[row] as number;
    if (today <= before) return false;
    const stated = prevClose[row] as number;
    // Equal closes, as nearly all are, make no ex-event: there is nothing to divide.
    const isTold = exDate <= today;
    let change = 1;
    if (isTold || (stated !== last && stated > 0)) {
      const rule = rules[s] as ExRule;
      const pair = { last: before, day: today, lastClose: last, prevClose: stated };
      change = exChange(rule, term, pair)?.factor ?? 1;
      if (isTold) {
        term = termAfter(rule.terms, today);
        exDate = rule.terms.days[term] ?? Number.POSITIVE_INFINITY;
      }
    }
    if (change !== 1) {
      product *= change;
      changes.symbol.push(s);
      changes.day.push(today);
      changes.dayBefore.push(before);
      changes.factor.push(product);
    }
    before = today;
    last = close[row] as number;
    factors[row] = product;
  }
  if (own >= 0) {
    lastDay[own] = before;
    lastClose[own] = last;
    factor[own] = product;
  }
  return true;
}

import type { ExRule } from "../../market/adjustment/ex-rule.js";
import type { Block, Experience, Spans } from "../panel/block.js";
import { addChanges, type FactorState, firstFactors } from "./adjust-days.js";

/**
 * What is known of the bars of a dataset's symbols by its last label, apart from their cells: with it, the cells of any
 * label follow from the bars from that label on.
 */
export interface SymbolHistory extends Spans, Experience {
  /** Those of the first state where nothing is adjusted. */
  readonly factors: FactorState;
}

/** The history of symbols of which nothing is known, each with its rule. */
export function emptyHistory(rules: readonly ExRule[]): SymbolHistory {
  const symbols = rules.length;
  return {
    first: new Int32Array(symbols).fill(-1),
    last: new Int32Array(symbols).fill(-1),
    ripe: new Int32Array(symbols),
    bars: new Int32Array(symbols),
    factors: firstFactors(rules),
  };
}

/** Adds the symbols of a block, of which all cells were read, to the history of all symbols. */
export function addBlock(history: SymbolHistory, block: Block): void {
  const { start } = block;
  for (const name of ["first", "last", "ripe", "bars"] as const) history[name].set(block[name], start);
  if (block.factors === undefined) return;
  const { lastDay, lastClose, factor, changes } = block.factors;
  history.factors.lastDay.set(lastDay, start);
  history.factors.lastClose.set(lastClose, start);
  history.factors.factor.set(factor, start);
  addChanges(history.factors.changes, changes, 0, lastDay.length, start);
}

/**
 * The state of some symbols' factors before their first row on a day or after it. It has no last close: its factor is that of
 * this first row already, and those of later rows follow from it.
 *
 * @param history up to the last row. @param end exclusive. @param since days since 1970-01-01.
 */
export function factorsBefore(
  { factors: { rules, changes } }: SymbolHistory,
  start: number,
  end: number,
  since: number,
): FactorState {
  const state = firstFactors(rules.slice(start, end));
  for (let at = 0; at < changes.symbol.length; at++) {
    const s = (changes.symbol[at] as number) - start;
    // Between a row with a change and the one before it is no row: the change is part of the first row's factor.
    if (s >= 0 && s < end - start && (changes.dayBefore[at] as number) < since)
      state.factor[s] = changes.factor[at] as number;
  }
  return state;
}

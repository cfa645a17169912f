import { type ResultRows, visitRows } from "../../arrow/scan/result-columns.js";
import { isPresent } from "../../core/bits.js";
import type { Session } from "../../db/session/session.js";
import type { ExRuleOf } from "../../market/ex-rule.js";
import type { PanelSymbol } from "../panel/block.js";
import { backwardFactors, type FactorState, factorsOf, firstFactors } from "./adjust-days.js";
import { type SymbolRange, symbolIndexes } from "./cells.js";

/** Rows that DuckDB returns at a time. */
export const VECTOR_ROWS = 2048;
/** The first columns of a result of bars. */
export const KEY_SHAPE = {
  symbol: "text",
  trade_date: "date",
  close: "double",
  prev_close: "double",
} as const;
export const KEYS_SQL = "symbol, trade_date, close, prev_close";
export const [SYMBOL, DAY, CLOSE, PREV_CLOSE] = [0, 1, 2, 3];

/**
 * Reads the state of symbols' factors before the first label of a range; undefined where the rows' days do not ascend.
 * @param isSorted whether rows are sorted, by symbol: then not many are read at once.
 */
type FactorHistory = (
  session: Session,
  range: SymbolRange,
  isSorted: boolean,
) => Promise<FactorState | undefined>;

/**
 * Once a second range begins with the same label, all symbols are read in one scan, which reads each row group once: an
 * append has the same label for nearly all ranges. @param rowsBefore the SQL of the rows before the first label, with
 * the keys.
 */
export function factorHistory(
  symbols: readonly PanelSymbol[],
  ruleOf: ExRuleOf,
  rowsBefore: (range: SymbolRange) => string,
): FactorHistory {
  const known = new Set<number>();
  const states = new Map<number, FactorState | undefined>();
  const factors = new Float64Array(VECTOR_ROWS);
  const indexes = new Int32Array(VECTOR_ROWS);

  async function read(session: Session, range: SymbolRange): Promise<FactorState | undefined> {
    const indexesOf = symbolIndexes(range);
    const state = firstFactors(range.symbols.map(ruleOf));
    let isInOrder = true;
    await visitRows(await session.stream(rowsBefore(range)), KEY_SHAPE, (rows) => {
      if (!isInOrder) return;
      indexesOf(rows.texts(SYMBOL), indexes);
      isInOrder = takeFactors(rows, indexes, state, factors);
    });
    return isInOrder ? state : undefined;
  }

  return async (session, range, isSorted) => {
    const { since } = range;
    if (isSorted || !known.has(since)) {
      known.add(since);
      return read(session, range);
    }
    if (!states.has(since)) states.set(since, await read(session, { index: 0, start: 0, symbols, since }));
    const state = states.get(since);
    return state && factorsOf(state, range.start, range.start + range.symbols.length);
  };
}

/**
 * Computes the factor of each row, and updates the state. @param indexes of the rows' symbols in the state.
 * @returns false where the rows' days do not ascend.
 */
export function takeFactors(
  rows: ResultRows,
  indexes: Int32Array,
  state: FactorState,
  factors: Float64Array,
): boolean {
  const prices = {
    rows: rows.rows,
    symbol: indexes,
    day: rows.values(DAY, "date"),
    close: withNaN(rows, CLOSE),
    prevClose: withNaN(rows, PREV_CLOSE),
  };
  return backwardFactors(prices, state, factors);
}

/** A column's values, with NaN for missing ones. */
function withNaN(rows: ResultRows, column: number): Float64Array {
  const values = rows.values(column, "double");
  const validity = rows.validity(column);
  if (validity === undefined) return values;
  return values.map((value, row) => (isPresent(validity, row) ? value : Number.NaN));
}

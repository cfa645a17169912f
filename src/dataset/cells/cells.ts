import type { ResultRows, ResultTexts } from "../../arrow/scan/result-columns.js";
import { isPresent } from "../../core/bits.js";
import type { Session } from "../../db/session/session.js";
import type { ExRule } from "../../market/ex-rule.js";
import type {
  Block,
  BlockOptions,
  Eligibility,
  FieldCells,
  PanelShape,
  PanelSymbol,
  Spans,
} from "../panel/block.js";
import { addChanges, type FactorState, firstFactors } from "./adjust-days.js";

/**
 * What is known of the bars of a dataset's symbols by its last label: with it, the cells of any label follow from the
 * bars from that label on.
 */
export interface SymbolHistory extends Spans, Eligibility {
  /** Those of the first state where nothing is adjusted. */
  readonly factors: FactorState;
}

/** The history of symbols of which nothing is known, each with its rule. */
export function emptyHistory(rules: readonly ExRule[]): SymbolHistory {
  const symbols = rules.length;
  return {
    first: new Int32Array(symbols).fill(-1),
    last: new Int32Array(symbols).fill(-1),
    eligibleFrom: new Int32Array(symbols),
    bars: new Int32Array(symbols),
    factors: firstFactors(rules),
  };
}

export function addBlock(history: SymbolHistory, block: Block): void {
  const { start } = block;
  for (const name of ["first", "last", "eligibleFrom", "bars"] as const)
    history[name].set(block[name], start);
  if (block.factors === undefined) return;
  const { lastDay, lastClose, factor, changes } = block.factors;
  history.factors.lastDay.set(lastDay, start);
  history.factors.lastClose.set(lastClose, start);
  history.factors.factor.set(factor, start);
  addChanges(history.factors.changes, changes, 0, lastDay.length, start);
}

/**
 * The state of some symbols' factors before their first row on or after a day (`since`, days since 1970-01-01). It has
 * no last close: its factor is that of this first row already. @param history up to the last row. @param end exclusive.
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

/** The cells of some symbols as a source returns them: bars with trades, before gaps are filled. */
export interface Cells {
  /** For each field: `symbols * width` values, of the labels from the range's first one on. */
  readonly fields: readonly FieldCells[];
  /** The adjusted close, where gaps are filled with it. */
  readonly closes: FieldCells | undefined;
  /** 1 where something traded. */
  readonly traded: Uint8Array;
  /** The state of the symbols' factors after the last label; only {@link dailyCells} has it. */
  readonly factors?: FactorState | undefined;
}

export interface SymbolRange {
  readonly index: number;
  readonly start: number;
  readonly symbols: readonly PanelSymbol[];
  /** First label whose cells are needed: there are none of earlier ones. */
  readonly since: number;
  /** The history of all symbols of the dataset, where it is known: cells that are not read do not show it. */
  readonly known?: SymbolHistory;
}

export interface CellSource {
  /**
   * Starts the query for the rows of some symbols; the returned function reads them into cells. DuckDB computes rows
   * ahead, up to the size of its streaming buffer, while other cells are read or used. @param session that of the
   * source, or, for {@link dailyCells}, another one of its database; it runs nothing else until the rows are read.
   */
  ask(range: SymbolRange, session: Session): Promise<() => Promise<Cells>>;
}

/** Creates memory for cells: bytes that are 0. */
export function newBytes(length: number, { valid }: BlockOptions): ArrayBufferLike {
  return valid === 1 ? new ArrayBuffer(length) : new SharedArrayBuffer(length);
}

/** Returns buffers for the cells of a block: the memory of an earlier block, of which only `traded` is cleared. */
export type CellBuffers = (range: SymbolRange) => Cells;

/**
 * Buffers for the cells of blocks of so many symbols, with nothing traded. Call {@link blankUntraded} after filling.
 */
export function cellBuffers(
  { fields, labels }: PanelShape,
  symbols: number,
  { hasCloses, options }: { readonly hasCloses: boolean; readonly options: BlockOptions },
): CellBuffers {
  const newCells = (cells: number): FieldCells =>
    options.bits === 32
      ? new Float32Array(newBytes(cells * 4, options))
      : new Float64Array(newBytes(cells * 8, options));
  const create = (cells: number): Cells => ({
    fields: fields.map(() => newCells(cells)),
    closes: hasCloses ? newCells(cells) : undefined,
    traded: new Uint8Array(cells),
  });
  const created: Cells[] = [];
  return (range) => {
    const index = range.index % options.valid;
    const width = labels.count - range.since;
    const cells = range.symbols.length * width;
    let buffers = created[index];
    // Memory for the largest block at once; blocks of some labels only are of one size but for the last one.
    if (buffers === undefined || buffers.traded.length < cells)
      buffers = create(range.since === 0 ? symbols * width : cells);
    created[index] = buffers;
    return {
      fields: buffers.fields.map((values) => values.subarray(0, cells)),
      closes: buffers.closes?.subarray(0, cells),
      traded: buffers.traded.subarray(0, cells).fill(0),
    };
  };
}

/** Clears the cells of some symbols without trades. */
export function blankUntraded({ fields, closes, traded }: Cells, symbols: number): void {
  const width = traded.length / symbols;
  const columns = closes === undefined ? fields : [...fields, closes];
  for (let from = 0; from < traded.length; from += width) {
    const own = traded.subarray(from, from + width);
    for (let start = own.indexOf(0); start >= 0; ) {
      const next = own.indexOf(1, start);
      const end = next < 0 ? own.length : next;
      for (const values of columns) values.fill(Number.NaN, from + start, from + end);
      start = next < 0 ? -1 : own.indexOf(0, next);
    }
  }
}

/** The SQL condition for some symbols' rows; it is on `symbol`, so that DuckDB can skip files. */
export function symbolsSql({ symbols }: SymbolRange, quote: (text: string) => string): string {
  const [first, last] = [symbols[0]?.symbol ?? "", symbols.at(-1)?.symbol ?? ""];
  return `symbol >= ${quote(first)} AND symbol <= ${quote(last)}`;
}

/** Writes a column's values to their cells: NaN for a missing value. */
export function scatter(rows: ResultRows, column: number, target: Int32Array, cells: FieldCells): void {
  const values = rows.values(column, "double");
  const validity = rows.validity(column);
  for (let row = 0; row < rows.rows; row++) {
    const cell = target[row] as number;
    if (cell < 0) continue;
    cells[cell] = isPresent(validity, row) ? (values[row] as number) : Number.NaN;
  }
}

/**
 * The index of each row's symbol in a range; -1 where it is not in it. Rows of one symbol follow each other in a lake's
 * files, so a row's text is compared, as four numbers, with that of the row before, and is decoded only where it
 * differs: DuckDB would look up each text.
 */
export function symbolIndexes({
  symbols,
}: Pick<SymbolRange, "symbols">): (texts: ResultTexts, indexes: Int32Array) => void {
  const known = new Map(symbols.map(({ symbol }, s) => [symbol, s]));
  return ({ words, textAt }, indexes) => {
    let [a, b, c, d] = [-1, 0, 0, 0];
    let index = -1;
    for (let row = 0, at = 0; at < words.length; row++, at += 4) {
      if (words[at] !== a || words[at + 1] !== b || words[at + 2] !== c || words[at + 3] !== d) {
        a = words[at] as number;
        b = words[at + 1] as number;
        c = words[at + 2] as number;
        d = words[at + 3] as number;
        index = known.get(textAt(row)) ?? -1;
      }
      indexes[row] = index;
    }
  };
}

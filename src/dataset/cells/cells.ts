import type { ResultRows } from "../../arrow/scan/result-columns.js";
import { isPresent } from "../../core/bits.js";
import type { PanelShape, PanelSymbol } from "../panel/block.js";

/** The cells of some symbols as a source returns them: bars with trades, before gaps are filled. */
export interface Cells {
  /** For each field: `symbols * width` values. */
  readonly fields: readonly Float64Array[];
  /** The adjusted close, where gaps are filled with it. */
  readonly closes: Float64Array | undefined;
  /** 1 where something traded. */
  readonly traded: Uint8Array;
}

/** Some of a dataset's symbols. */
export interface SymbolRange {
  /** Index of the first symbol. */
  readonly start: number;
  readonly symbols: readonly PanelSymbol[];
}

/** A source of the values of a dataset's cells. */
export interface CellSource {
  /**
   * Starts the query for the rows of some symbols. DuckDB computes the first of them, up to the size of its streaming
   * buffer, while the cells of other symbols are used.
   *
   * @returns a function that reads the rows into cells. The session must run no other statement until it is done.
   */
  ask(range: SymbolRange): Promise<() => Promise<Cells>>;
}

/** Returns buffers for the cells of so many symbols: always the same memory, of which only `traded` is cleared. */
export type CellBuffers = (symbols: number) => Cells;

/** Creates buffers for the cells of so many symbols, with nothing traded. Call {@link blankUntraded} after filling. */
export function cellBuffers(
  { fields, labels }: PanelShape,
  symbols: number,
  hasCloses: boolean,
): CellBuffers {
  const most = symbols * labels.count;
  const buffers = {
    fields: fields.map(() => new Float64Array(most)),
    closes: hasCloses ? new Float64Array(most) : undefined,
    traded: new Uint8Array(most),
  };
  return (count) => {
    const cells = count * labels.count;
    return {
      fields: buffers.fields.map((values) => values.subarray(0, cells)),
      closes: buffers.closes?.subarray(0, cells),
      traded: buffers.traded.subarray(0, cells).fill(0),
    };
  };
}

/** Clears the cells without trades. */
export function blankUntraded({ fields, closes, traded }: Cells): void {
  for (let start = traded.indexOf(0); start >= 0; ) {
    const next = traded.indexOf(1, start);
    const end = next < 0 ? traded.length : next;
    for (const values of fields) values.fill(Number.NaN, start, end);
    closes?.fill(Number.NaN, start, end);
    start = next < 0 ? -1 : traded.indexOf(0, next);
  }
}

/** The SQL condition for some symbols' rows; it is on `symbol`, so that DuckDB can skip files. */
export function symbolsSql({ symbols }: SymbolRange, quote: (text: string) => string): string {
  const [first, last] = [symbols[0]?.symbol ?? "", symbols.at(-1)?.symbol ?? ""];
  return `symbol >= ${quote(first)} AND symbol <= ${quote(last)}`;
}

/** Writes a column's values to their cells: NaN for a missing value. */
export function scatter(rows: ResultRows, column: number, target: Int32Array, cells: Float64Array): void {
  const values = rows.values(column, "double");
  const validity = rows.validity(column);
  for (let row = 0; row < rows.rows; row++) {
    const cell = target[row] as number;
    if (cell < 0) continue;
    cells[cell] = isPresent(validity, row) ? (values[row] as number) : Number.NaN;
  }
}

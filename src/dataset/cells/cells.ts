import type { ResultRows } from "../../arrow/scan/result-columns.js";
import { isPresent } from "../../core/bits.js";
import type { PanelShape, PanelSymbol } from "../panel/block.js";

/** Some symbols' cells as a source gives them: what traded, before gaps are filled. */
export interface Cells {
  /** Of each field: `symbols * width` values. */
  readonly fields: readonly Float64Array[];
  /** The adjusted close, where gaps are filled with it. */
  readonly closes: Float64Array | undefined;
  /** 1 where something traded. */
  readonly traded: Uint8Array;
}

/** Some of a dataset's symbols. */
export interface SymbolRange {
  /** Index of the first. */
  readonly start: number;
  readonly symbols: readonly PanelSymbol[];
}

/** Where the values of a dataset's cells come from. */
export interface CellSource {
  /**
   * Asks for some symbols' rows.
   *
   * @returns what makes cells of the rows. It asks for nothing more unless it must, so that others can be asked for meanwhile.
   */
  ask(range: SymbolRange): Promise<() => Promise<Cells>>;
}

/** Gives room for the cells of so many symbols: the same memory each time, with what stood there. */
export type CellBuffers = (symbols: number) => Cells;

/** Makes room for the cells of at most so many symbols. Nothing is traded in them yet; {@link blankUntraded} is for after. */
export function cellBuffers(
  { fields, labels }: PanelShape,
  symbols: number,
  hasCloses: boolean,
): CellBuffers {
  const most = symbols * labels.count;
  const room = {
    fields: fields.map(() => new Float64Array(most)),
    closes: hasCloses ? new Float64Array(most) : undefined,
    traded: new Uint8Array(most),
  };
  return (count) => {
    const cells = count * labels.count;
    return {
      fields: room.fields.map((values) => values.subarray(0, cells)),
      closes: room.closes?.subarray(0, cells),
      traded: room.traded.subarray(0, cells).fill(0),
    };
  };
}

/** Takes away what stands in cells of which nothing was read. */
export function blankUntraded({ fields, closes, traded }: Cells): void {
  for (let start = traded.indexOf(0); start >= 0; ) {
    const next = traded.indexOf(1, start);
    const end = next < 0 ? traded.length : next;
    for (const values of fields) values.fill(Number.NaN, start, end);
    closes?.fill(Number.NaN, start, end);
    start = next < 0 ? -1 : traded.indexOf(0, next);
  }
}

/** Rows of some symbols only, in SQL: of `symbol`, so that it reaches the files. */
export function symbolsSql({ symbols }: SymbolRange, quote: (text: string) => string): string {
  const [first, last] = [symbols[0]?.symbol ?? "", symbols.at(-1)?.symbol ?? ""];
  return `symbol >= ${quote(first)} AND symbol <= ${quote(last)}`;
}

/** Puts a column's values into their cells: NaN for one that is not there. */
export function scatter(rows: ResultRows, column: number, target: Int32Array, cells: Float64Array): void {
  const values = rows.values(column, "double");
  const validity = rows.validity(column);
  for (let row = 0; row < rows.rows; row++) {
    const cell = target[row] as number;
    if (cell < 0) continue;
    cells[cell] = isPresent(validity, row) ? (values[row] as number) : Number.NaN;
  }
}

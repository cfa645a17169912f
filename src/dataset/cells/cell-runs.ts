import { type ResultRows } from "../../arrow/scan/result-columns.js";
import { isPresent } from "../../core/bits.js";
import { DAY, VECTOR_ROWS } from "./factor-history.js";

/**
 * The rows of a vector that have a cell, as runs: consecutive rows of one symbol, with one factor, whose cells are
 * consecutive. Nearly all rows of a lake are in long runs, which loops can handle without looking up each row.
 */
export interface CellRuns {
  /** Number of runs; the arrays may be longer. */
  count: number;
  /** The first row of each run, and the row after its last one. */
  readonly start: Int32Array;
  readonly end: Int32Array;
  /** The cell of its first row. */
  readonly cell: Int32Array;
  /** The index of its symbol in the range. */
  readonly symbol: Int32Array;
  readonly factor: Float64Array;
}

/** Runs for the rows of one vector. */
export function newCellRuns(): CellRuns {
  const integers = (): Int32Array => new Int32Array(VECTOR_ROWS);
  const [start, end, cell, symbol] = [integers(), integers(), integers(), integers()];
  return { count: 0, start, end, cell, symbol, factor: new Float64Array(VECTOR_ROWS) };
}

/** The cells of a range: each symbol has as many as there are labels. */
export interface CellPlaces {
  /** The label of each day from `firstDay` to the last label's; negative where it is no session. */
  readonly labelOfDay: Int32Array;
  readonly firstDay: number;
  readonly labels: number;
}

/**
 * Finds the cells of rows, and marks them as traded: rows of no symbol of the range, without trades, or of a date that
 * is no session of the labels have none.
 *
 * @param traded number of the column that says whether something traded.
 * @param of the index of each row's symbol in the range, negative where it is not in it; and the factor of each row.
 * @param runs receives the runs. @param marks receives 1 for each cell that has a row.
 */
export function findRuns(
  rows: ResultRows,
  traded: number,
  { symbols, factors }: { readonly symbols: Int32Array; readonly factors: Float64Array },
  { labelOfDay, firstDay, labels }: CellPlaces,
  runs: CellRuns,
  marks: Uint8Array,
): void {
  const day = rows.values(DAY, "date");
  const isTraded = rows.values(traded, "boolean");
  const isKnown = rows.validity(traded);
  const { start, end, cell, symbol, factor } = runs;
  let count = 0;
  // What the next row must be to belong to the open run.
  let [nextRow, nextCell, own, times] = [-1, -1, -1, 0];
  for (let row = 0; row < rows.rows; row++) {
    const s = symbols[row] as number;
    if (s < 0 || isTraded[row] !== 1 || !isPresent(isKnown, row)) continue;
    const label = labelOfDay[(day[row] as number) - firstDay];
    if (label === undefined || label < 0) continue;
    const at = s * labels + label;
    const by = factors[row] as number;
    marks[at] = 1;
    if (row !== nextRow || at !== nextCell || s !== own || by !== times) {
      if (count > 0) end[count - 1] = nextRow;
      start[count] = row;
      cell[count] = at;
      symbol[count] = s;
      factor[count] = by;
      count += 1;
      own = s;
      times = by;
    }
    nextRow = row + 1;
    nextCell = at + 1;
  }
  if (count > 0) end[count - 1] = nextRow;
  runs.count = count;
}

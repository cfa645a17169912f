import { copyBits, isAllNull, isPresent, putBit } from "../core/bits.js";
import {
  DOUBLE_COLUMNS,
  type DoubleColumn,
  type KlineColumns,
  type NumberColumn,
  OPTIONAL_COLUMNS,
} from "../wire/kline-columns.js";

/** Values of a nullable column that state nothing, and became null. */
export interface UnstatedValues {
  readonly column: DoubleColumn;
  readonly bars: number;
  /** The row of the first of these bars, by symbol and then by time. */
  readonly first: number;
}

/** The columns that may be null. */
const NULLABLE = DOUBLE_COLUMNS.filter((name) => OPTIONAL_COLUMNS.has(name));

/** The column of prices that an exchange states only above 0. */
export const PREVIOUS_CLOSE = "prev_close";

/**
 * Bars in whose nullable columns every value states something: NaN and infinities are no numbers, and a previous close
 * of 0 or less is no price. They become null; neither the values nor the given bitmaps are changed. `lake/land/clear-values`
 * does the same in SQL.
 *
 * @returns the given columns where nothing became null.
 */
export function statedValues(columns: KlineColumns): {
  readonly columns: KlineColumns;
  readonly unstated: readonly UnstatedValues[];
} {
  const { rows, doubles } = columns;
  const unstated: UnstatedValues[] = [];
  const replaced: Partial<Record<DoubleColumn, NumberColumn>> = {};
  for (const column of NULLABLE) {
    const given = doubles[column];
    if (given.validity !== undefined && isAllNull(given.validity, rows)) continue;
    const above = column === PREVIOUS_CLOSE ? 0 : Number.NEGATIVE_INFINITY;
    let first = nextUnstated(given, above, 0, rows);
    if (first === rows) continue;
    const validity = new Uint8Array(Math.ceil(rows / 8));
    copyBits(given.validity, 0, rows, validity, 0);
    let bars = 0;
    for (let row = first; row < rows; row = nextUnstated(given, above, row + 1, rows)) {
      putBit(validity, row, false);
      bars += 1;
      if (symbolAt(columns, row) < symbolAt(columns, first)) first = row;
    }
    replaced[column] = { values: given.values, validity };
    unstated.push({ column, bars, first });
  }
  if (unstated.length === 0) return { columns, unstated };
  return { columns: { ...columns, doubles: { ...doubles, ...replaced } }, unstated };
}

/** What is wrong with a value that states nothing. */
export function noValue(column: string): string {
  return column === PREVIOUS_CLOSE ? "is no price above 0" : "is not a finite number";
}

/** The symbol of a row. */
export function symbolAt({ symbols, symbolIndex }: KlineColumns, row: number): string {
  return symbols[symbolIndex[row] as number] as string;
}

/** The first row from `start` on with a value that is not finite, or not above a bound; `end` if there is none. */
function nextUnstated({ values, validity }: NumberColumn, above: number, start: number, end: number): number {
  for (let row = start; row < end; row++) {
    const value = values[row] as number;
    // Nulls are stored as NaN, so most of them come this far.
    if (!(value > above && value < Number.POSITIVE_INFINITY) && isPresent(validity, row)) return row;
  }
  return end;
}

import { copyBits, isAllNull, isPresent, putBit } from "../core/bits.js";
import {
  DOUBLE_COLUMNS,
  type DoubleColumn,
  type KlineColumns,
  type NumberColumn,
  OPTIONAL_COLUMNS,
} from "../wire/kline-columns.js";

/** Values of a column that state nothing, and became what {@link noValue} says. */
export interface UnstatedValues {
  readonly column: DoubleColumn;
  readonly bars: number;
  /** The row of the first of these bars, by symbol and then by time. */
  readonly first: number;
}

const NULLABLE = DOUBLE_COLUMNS.filter((name) => OPTIONAL_COLUMNS.has(name));

/** The column of prices that an exchange states only above 0. */
export const PREVIOUS_CLOSE = "prev_close";

/**
 * Bars in which every value states something: in nullable columns, NaN and infinities are no numbers, and a previous close
 * of 0 or less is no price; they become null. A close of 0 without volume is no price either: some services give such a bar
 * for a suspended day. It becomes the previous close, as other services give it, where the bar states one. Neither the
 * values nor the bitmaps that are given are changed. `lake/land/clear-values` does the same in SQL.
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
  const closes = statedCloses(columns, replaced.prev_close ?? doubles.prev_close);
  if (closes !== undefined) {
    replaced.close = closes.close;
    unstated.push(closes.unstated);
  }
  if (unstated.length === 0) return { columns, unstated };
  return { columns: { ...columns, doubles: { ...doubles, ...replaced } }, unstated };
}

/** Closes with the previous close in bars without a trade and a price; undefined where there is no such bar. */
function statedCloses(
  columns: KlineColumns,
  prev: NumberColumn,
): { readonly close: NumberColumn; readonly unstated: UnstatedValues } | undefined {
  const { rows, volume, doubles } = columns;
  const given = doubles.close.values;
  let values: Float64Array | undefined;
  let [bars, first] = [0, 0];
  for (let row = 0; row < rows; row++) {
    if (given[row] !== 0 || volume[row] !== 0n || !isPresent(prev.validity, row)) continue;
    if (values === undefined) [values, first] = [given.slice(), row];
    values[row] = prev.values[row] as number;
    bars += 1;
    if (symbolAt(columns, row) < symbolAt(columns, first)) first = row;
  }
  return values && { close: { ...doubles.close, values }, unstated: { column: "close", bars, first } };
}

export function noValue(column: string): string {
  if (column === "close") return "is 0 without trades; it became the previous close";
  return `${column === PREVIOUS_CLOSE ? "is no price above 0" : "is not a finite number"}; it became null`;
}

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

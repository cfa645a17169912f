import { BOOLEAN, DATE, DOUBLE, ENUM, TIMESTAMPTZ, VARCHAR } from "../../arrow/duckdb-api.js";
import type { Fill, ScanColumn, ScanSource } from "../../arrow/scan/table-scan.js";
import { copyValidity, copyValues, TextVector, VECTOR_ROWS } from "../../arrow/scan/vector-copy.js";
import { lowerBound } from "../../core/lower-bound.js";
import { ROW_GROUP_ROWS } from "../../lake/files/parquet/write-rows.js";
import type { Region } from "../../market/regions.js";
import type { Block, FieldCells, PanelShape } from "./block.js";
import { labelTimes, type Slice } from "./panel-batches.js";

/** Most values of an `ENUM` that DuckDB stores as bytes, and as 16-bit numbers. */
const [MOST_OF_8_BITS, MOST_OF_16_BITS] = [255, 65_535];

/** Handles the labels of a symbol from `label` on, exclusive of `end`; they belong at row `at` of the vector. */
type Visit = (symbol: number, label: number, end: number, at: number) => void;
/** Visits the labels that contain the rows from `from` to `from + rows`. */
type Walk = (from: number, rows: number, visit: Visit) => void;

/** Makes the rows of a block over some labels readable to SQL; undefined where there are none. */
type BlockScans = (block: Block, slice: Slice) => ScanSource | undefined;

/**
 * A block's rows over some labels as a scan's source, by symbol, then label: each symbol from its first label with
 * trades to its last. Columns: `symbol, trade_date, timestamp`, fields, masks; NaN becomes null. Cells are copied only
 * when DuckDB reads them, to memory that all scans use. Symbols are an `ENUM` of those that have rows, which is a
 * file's dictionary already, where the rows fit into one row group; otherwise texts, of which each row group gets a
 * dictionary and statistics of its own.
 */
export function blockScans(shape: PanelShape): BlockScans {
  const { labels } = shape;
  const texts = new TextVector();
  const numbers = { few: new Uint8Array(VECTOR_ROWS), many: new Uint16Array(VECTOR_ROWS) };
  const days = new Int32Array(VECTOR_ROWS);
  const times = new BigInt64Array(VECTOR_ROWS);
  const values = new Float64Array(VECTOR_ROWS);
  const present = new Uint8Array(VECTOR_ROWS / 8);
  const marks = new Uint8Array(VECTOR_ROWS);
  const microsOf = new Map(
    Array.from(labelTimes(shape), ([region, ends]) => [region, ends.map((ms) => ms * 1000n)]),
  );

  return (block, slice) => {
    const { walk, rows, own } = walkOver(block, slice);
    if (rows === 0) return undefined;
    const { symbols } = block;
    /** The cell of a symbol's label. */
    const cellOf = (s: number, label: number): number => s * block.width + label - block.since;
    const fillDoubles =
      (cells: FieldCells): Fill =>
      (target, from, count) => {
        let hasNulls = false;
        walk(from, count, (s, label, end, at) => {
          const start = cellOf(s, label);
          if (!copyCells(cells, start, start + end - label, values, at)) hasNulls = true;
        });
        copyValues(target, values, 0, count);
        if (!hasNulls) return;
        markPresent(values, count, present);
        copyValidity(target, present, 0, count);
      };
    const hasOrderedBits = (cells: FieldCells): boolean => {
      let isOrdered = true;
      walk(0, rows, (s, label, end) => {
        isOrdered &&= !hasUnorderedBits(cells, cellOf(s, label), cellOf(s, end));
      });
      return isOrdered;
    };
    const fillMarks =
      (cells: Uint8Array): Fill =>
      (target, from, count) => {
        walk(from, count, (s, label, end, at) =>
          marks.set(cells.subarray(cellOf(s, label), cellOf(s, end)), at),
        );
        copyValues(target, marks, 0, count);
      };
    const symbolTexts = (): ScanColumn => ({
      name: "symbol",
      type: VARCHAR,
      fill(target, from, count) {
        walk(from, count, (s, label, end, at) => texts.fill(symbols[s]?.symbol ?? "", at, at + end - label));
        texts.copyTo(target, count);
      },
    });
    const symbolNumbers = (): ScanColumn => {
      const numberOf = new Map(own.map((s, number) => [s, number]));
      const rowNumbers = own.length <= MOST_OF_8_BITS ? numbers.few : numbers.many;
      return {
        name: "symbol",
        type: ENUM(own.map((s) => symbols[s]?.symbol ?? "")),
        fill(target, from, count) {
          walk(from, count, (s, label, end, at) =>
            rowNumbers.fill(numberOf.get(s) as number, at, at + end - label),
          );
          copyValues(target, rowNumbers, 0, count);
        },
      };
    };
    const columns: ScanColumn[] = [
      rows <= ROW_GROUP_ROWS && own.length <= MOST_OF_16_BITS ? symbolNumbers() : symbolTexts(),
      {
        name: "trade_date",
        type: DATE,
        fill(target, from, count) {
          walk(from, count, (_, label, end, at) => days.set(labels.days.subarray(label, end), at));
          copyValues(target, days, 0, count);
        },
      },
      {
        name: "timestamp",
        type: TIMESTAMPTZ,
        fill(target, from, count) {
          walk(from, count, (s, label, end, at) => {
            const ends = microsOf.get(symbols[s]?.region as Region) as BigInt64Array;
            times.set(ends.subarray(label, end), at);
          });
          copyValues(target, times, 0, count);
        },
      },
      ...shape.fields.map(
        ({ name }, f): ScanColumn => ({
          name,
          type: DOUBLE,
          fill: fillDoubles(block.fields[f] as FieldCells),
          hasOrderedBits: () => hasOrderedBits(block.fields[f] as FieldCells),
        }),
      ),
      ...shape.masks.map(
        (name, m): ScanColumn => ({ name, type: BOOLEAN, fill: fillMarks(block.masks[m] as Uint8Array) }),
      ),
    ];
    return { rows, columns };
  };
}

/** Copies cells to some rows. @returns whether none is NaN. */
function copyCells(cells: FieldCells, start: number, end: number, values: Float64Array, at: number): boolean {
  let gaps = 0;
  for (let cell = start, row = at; cell < end; cell++, row++) {
    const value = cells[cell] as number;
    values[row] = value;
    // NaN is equal to nothing.
    gaps += Number(value !== value);
  }
  return gaps === 0;
}

/** Whether some cell is negative, infinite, or zero with a sign. */
function hasUnorderedBits(cells: FieldCells, start: number, end: number): boolean {
  for (let cell = start; cell < end; cell++) {
    const value = cells[cell] as number;
    if (value > 0 && value < Number.POSITIVE_INFINITY) continue;
    if (!Number.isNaN(value) && !Object.is(value, 0)) return true;
  }
  return false;
}

/** Sets the bits of the rows with a value, and no others. */
function markPresent(values: Float64Array, rows: number, present: Uint8Array): void {
  present.fill(0);
  for (let row = 0; row < rows; row++) {
    if (!Number.isNaN(values[row])) present[row >> 3] = (present[row >> 3] as number) | (1 << (row & 7));
  }
}

/** The rows of a block over some labels, and a function that finds where they are. */
function walkOver(
  { symbols, first, last }: Block,
  { start, width }: Slice,
): { walk: Walk; rows: number; own: readonly number[] } {
  /** Of each symbol with rows: its index, its first label, and the row after its last one. */
  const own: number[] = [];
  const begins: number[] = [];
  const ends: number[] = [];
  let rows = 0;
  for (let s = 0; s < symbols.length; s++) {
    const from = Math.max(first[s] as number, start);
    const to = Math.min(last[s] as number, start + width - 1);
    if ((first[s] as number) < 0 || from > to) continue;
    rows += to - from + 1;
    own.push(s);
    begins.push(from);
    ends.push(rows);
  }
  const walk: Walk = (from, count, visit) => {
    let index = lowerBound(0, ends.length, (i) => (ends[i] as number) > from);
    for (let at = 0; at < count; index++) {
      const startRow = index === 0 ? 0 : (ends[index - 1] as number);
      const label = (begins[index] as number) + from + at - startRow;
      const length = Math.min((ends[index] as number) - from - at, count - at);
      visit(own[index] as number, label, label + length, at);
      at += length;
    }
  };
  return { walk, rows, own };
}

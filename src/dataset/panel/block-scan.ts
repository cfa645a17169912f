import { BOOLEAN, DATE, DOUBLE, TIMESTAMPTZ, VARCHAR } from "../../arrow/duckdb-api.js";
import type { Fill, ScanColumn, ScanSource } from "../../arrow/scan/table-scan.js";
import { TextVector } from "../../arrow/scan/text-vector.js";
import { copyValidity, copyValues, VECTOR_ROWS } from "../../arrow/scan/vector-copy.js";
import { lowerBound } from "../../core/lower-bound.js";
import type { Region } from "../../market/regions.js";
import type { Block, FieldCells, PanelShape } from "./block.js";
import { labelTimes } from "./panel-batches.js";
import type { Slice } from "./panel-spool.js";

/** Handles the labels of a symbol from `label` on, exclusive of `end`; they belong at row `at` of the vector. */
type Visit = (symbol: number, label: number, end: number, at: number) => void;
/** Visits the labels that contain the rows from `from` to `from + rows`. */
type Walk = (from: number, rows: number, visit: Visit) => void;

/** Makes the rows of a block over some labels readable to SQL; undefined where there are none. */
export type BlockScans = (block: Block, slice: Slice) => ScanSource | undefined;

/**
 * A block's rows over some labels as a scan's source, by symbol, then label: each symbol from its first label with trades
 * to its last. Columns: `symbol, trade_date, timestamp`, fields, masks; NaN becomes null. Cells are copied only when
 * DuckDB reads them, to memory that all scans use: a copy of a column in new memory would be V8's to collect.
 */
export function blockScans(shape: PanelShape): BlockScans {
  const { labels } = shape;
  const symbolTexts = new TextVector();
  const days = new Int32Array(VECTOR_ROWS);
  const times = new BigInt64Array(VECTOR_ROWS);
  const values = new Float64Array(VECTOR_ROWS);
  const present = new Uint8Array(VECTOR_ROWS / 8);
  const marks = new Uint8Array(VECTOR_ROWS);
  const microsOf = new Map(
    Array.from(labelTimes(shape), ([region, ends]) => [region, ends.map((ms) => ms * 1000n)]),
  );

  return (block, slice) => {
    const { walk, rows } = walkOver(block, slice);
    if (rows === 0) return undefined;
    const { symbols, width } = block;
    const fillDoubles =
      (cells: FieldCells): Fill =>
      (target, from, count) => {
        let hasNulls = false;
        walk(from, count, (s, label, end, at) => {
          const before = at - label;
          for (let l = label, cell = s * width + label; l < end; l++, cell++) {
            const value = cells[cell] as number;
            values[before + l] = value;
            if (!Number.isNaN(value)) continue;
            if (!hasNulls) present.fill(0xff);
            hasNulls = true;
            present[(before + l) >> 3] = (present[(before + l) >> 3] as number) & ~(1 << ((before + l) & 7));
          }
        });
        copyValues(target, values, 0, count);
        if (hasNulls) copyValidity(target, present, 0, count);
      };
    const fillMarks =
      (cells: Uint8Array): Fill =>
      (target, from, count) => {
        walk(from, count, (s, label, end, at) =>
          marks.set(cells.subarray(s * width + label, s * width + end), at),
        );
        copyValues(target, marks, 0, count);
      };
    const columns: ScanColumn[] = [
      {
        name: "symbol",
        type: VARCHAR,
        fill(target, from, count) {
          walk(from, count, (s, label, end, at) =>
            symbolTexts.fill(symbols[s]?.symbol ?? "", at, at + end - label),
          );
          symbolTexts.copyTo(target, count);
        },
      },
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
        }),
      ),
      ...shape.masks.map(
        (name, m): ScanColumn => ({ name, type: BOOLEAN, fill: fillMarks(block.masks[m] as Uint8Array) }),
      ),
    ];
    return { rows, columns };
  };
}

/** The rows of a block over some labels, and a function that finds where they are. */
function walkOver({ symbols, first, last }: Block, { start, width }: Slice): { walk: Walk; rows: number } {
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
  return { walk, rows };
}

import type { DuckDBType } from "@duckdb/node-api";
import { copyBits, int64At, isAllNull, TWO_32 } from "../../core/bits.js";
import { lowerBound } from "../../core/lower-bound.js";
import { byRegion, REGIONS, type Region } from "../../market/regions.js";
import { type CalendarSpan, calendarSpans } from "../../market/trading-calendar.js";
import type { BarSegment } from "../../wire/bar-segment.js";
import { DOUBLE_COLUMNS, type DoubleColumn, type KlineColumns } from "../../wire/kline-columns.js";
import { BIGINT, BOOLEAN, DATE, DOUBLE, INTEGER, TIMESTAMPTZ, VARCHAR } from "../duckdb-api.js";
import type { Fill, ScanColumn, ScanSource } from "./table-scan.js";
import { copyValidity, copyValues, TextVector, VECTOR_ROWS } from "./vector-copy.js";

/** Handles the rows from `start` to `end`, exclusive, of a segment; they belong at row `at` of the vector. */
type Visit = (segment: BarSegment, start: number, end: number, at: number) => void;
/** Visits the parts of segments that contain the rows from `from` to `from + rows`. */
type Walk = (from: number, rows: number, visit: Visit) => void;

/**
 * The name of the column with the number of the group, from 0 on, that each row belongs to: the rows that one thread takes,
 * which become a row group of the file.
 */
export const ROW_GROUP = "row_group";

/**
 * The name of the column of integers that have the same 64 bits as a column's doubles. No column of a table has such a name,
 * as it has blanks.
 */
export function bitsOf(name: DoubleColumn): string {
  return `bits of ${name}`;
}

/**
 * The segments of bars, one after the other, as a scan's source; values are copied only when DuckDB reads them.
 *
 * Columns: those of a bars table except the partition's, in the table's own types; `source`; {@link ROW_GROUP}; and the
 * columns that {@link bitsOf} names.
 * `trade_date` is null and `lot` is 1 where the region is unknown.
 *
 * @param rowsAtATime consecutive rows that one thread takes.
 */
export function barScan(segments: readonly BarSegment[], rowsAtATime: number): ScanSource {
  const ends = new Float64Array(segments.length);
  let rows = 0;
  for (const [i, { start, end }] of segments.entries()) ends[i] = rows += end - start;
  const walk = walkOver(segments, ends);
  const column = (name: string, type: DuckDBType, fill: Fill): ScanColumn => ({ name, type, fill });
  const doubles = DOUBLE_COLUMNS.map((name) => ({ name, fill: fillDoubles(walk, name, segments) }));
  return {
    rows,
    rowsAtATime,
    columns: [
      column(
        "symbol",
        VARCHAR,
        fillTexts(walk, (segment) => segment.symbol),
      ),
      column("timestamp", TIMESTAMPTZ, fillTimes(walk)),
      column("trade_date", DATE, fillDates(walk)),
      ...doubles.map(({ name, fill }) => column(name, DOUBLE, fill)),
      column("volume", BIGINT, fillVolumes(walk)),
      column("lot", INTEGER, fillConstants(walk, new Int32Array(VECTOR_ROWS), lotOf)),
      column(
        "is_final",
        BOOLEAN,
        fillConstants(walk, new Uint8Array(VECTOR_ROWS), (s) => Number(s.isFinal)),
      ),
      column(
        "source",
        VARCHAR,
        fillTexts(walk, (segment) => segment.source),
      ),
      column(ROW_GROUP, INTEGER, fillGroups(rowsAtATime)),
      ...doubles.map(({ name, fill }) => column(bitsOf(name), BIGINT, fill)),
    ],
  };
}

function lotOf({ region }: BarSegment): number {
  return region === undefined ? 1 : REGIONS[region].lot;
}

/** @param ends row after the last of each segment, counted over all segments. */
function walkOver(segments: readonly BarSegment[], ends: Float64Array): Walk {
  return (from, rows, visit) => {
    let index = lowerBound(0, ends.length, (segment) => (ends[segment] as number) > from);
    for (let at = 0; at < rows; index++) {
      const segment = segments[index] as BarSegment;
      const start = segment.end - ((ends[index] as number) - from - at);
      const end = Math.min(segment.end, start + rows - at);
      visit(segment, start, end, at);
      at += end - start;
    }
  };
}

function fillDoubles(walk: Walk, name: DoubleColumn, segments: readonly BarSegment[]): Fill {
  const present = new Uint8Array(VECTOR_ROWS / 8);
  const empty = new Set<KlineColumns>();
  let hasNulls = false;
  for (const columns of new Set(segments.map((segment) => segment.columns))) {
    const { validity } = columns.doubles[name];
    hasNulls ||= validity !== undefined;
    if (validity !== undefined && isAllNull(validity, columns.rows)) empty.add(columns);
  }
  return (target, from, rows) => {
    walk(from, rows, ({ columns }, start, end, at) => {
      const column = columns.doubles[name];
      if (hasNulls) copyBits(column.validity, start, end - start, present, at);
      if (!empty.has(columns)) copyValues(target, column.values, start, end - start, at);
    });
    if (hasNulls) copyValidity(target, present, 0, rows);
  };
}

function fillVolumes(walk: Walk): Fill {
  return (target, from, rows) =>
    walk(from, rows, ({ columns }, start, end, at) =>
      copyValues(target, columns.volume, start, end - start, at),
    );
}

/** Converts milliseconds to the microseconds of DuckDB's TIMESTAMPTZ, in 32-bit words. */
function fillTimes(walk: Walk): Fill {
  const words = new Uint32Array(VECTOR_ROWS * 2);
  const values = new BigInt64Array(words.buffer);
  return (target, from, rows) => {
    walk(from, rows, ({ columns: { timestamp } }, start, end, at) => {
      const given = new Uint32Array(timestamp.buffer, timestamp.byteOffset + start * 8, (end - start) * 2);
      for (let i = 0; i < given.length; i += 2) {
        const low = (given[i] as number) * 1000;
        words[at * 2 + i] = low;
        words[at * 2 + i + 1] = Math.imul(given[i + 1] as number, 1000) + Math.floor(low / TWO_32);
      }
    });
    copyValues(target, values, 0, rows);
  };
}

/** The date in the zone of each bar's exchange. */
function fillDates(walk: Walk): Fill {
  const values = new Int32Array(VECTOR_ROWS);
  const present = new Uint8Array(VECTOR_ROWS / 8);
  const days = (region: Region) => calendarSpans(REGIONS[region].zone, "day");
  const dayOf = byRegion(days);
  return (target, from, rows) => {
    let isKnown = true;
    present.fill(0xff);
    walk(from, rows, ({ columns: { timestamp }, region }, start, end, at) => {
      if (region === undefined) {
        isKnown = false;
        copyBits(NO_BITS, 0, end - start, present, at);
        return;
      }
      const given = new Uint32Array(timestamp.buffer, timestamp.byteOffset + start * 8, (end - start) * 2);
      let day: CalendarSpan = { first: "" as CalendarSpan["first"], epochDay: 0, start: 0, end: 0 };
      for (let i = 0; i < given.length; i += 2) {
        const ms = int64At(given, i / 2);
        if (ms < day.start || ms >= day.end) day = dayOf[region](ms);
        values[at + i / 2] = day.epochDay;
      }
    });
    copyValues(target, values, 0, rows);
    if (!isKnown) copyValidity(target, present, 0, rows);
  };
}

const NO_BITS = new Uint8Array(VECTOR_ROWS / 8);

function fillConstants(
  walk: Walk,
  values: Int32Array | Uint8Array,
  valueOf: (segment: BarSegment) => number,
): Fill {
  return (target, from, rows) => {
    walk(from, rows, (segment, start, end, at) => void values.fill(valueOf(segment), at, at + end - start));
    copyValues(target, values, 0, rows);
  };
}

function fillGroups(rowsAtATime: number): Fill {
  const values = new Int32Array(VECTOR_ROWS);
  return (target, from, rows) => copyValues(target, values.fill(Math.floor(from / rowsAtATime)), 0, rows);
}

function fillTexts(walk: Walk, textOf: (segment: BarSegment) => string): Fill {
  const vector = new TextVector();
  return (target, from, rows) => {
    walk(from, rows, (segment, start, end, at) => vector.fill(textOf(segment), at, at + end - start));
    vector.copyTo(target, rows);
  };
}

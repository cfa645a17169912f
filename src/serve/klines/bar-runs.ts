import type { ResultColumn, ResultColumns } from "../../arrow/scan/result-columns.js";
import { copyBits, int64At, int64Words, isSet, setBit } from "../../core/bits.js";
import { lowerBound } from "../../core/lower-bound.js";
import {
  DOUBLE_COLUMNS,
  type KlineRun,
  type KlineValues,
  type NumberColumn,
} from "../../wire/kline-columns.js";
import type { KLINE_SHAPE } from "./klines-sql.js";

type KlineRows = ResultColumns<typeof KLINE_SHAPE>;

/** The newest bars of one symbol, ascending by timestamp. */
export interface BarRun extends KlineRun {
  /** Rows of the symbol in the query's result, including those before `start`. */
  readonly found: number;
}

/** Rows from `start` to `end`, exclusive, of one symbol. */
interface Stretch {
  readonly start: number;
  readonly end: number;
}

export interface SymbolStretch extends Stretch {
  /** Whether each timestamp is later than the one before it. */
  readonly ascends: boolean;
}

/** Bars in which the rows of each symbol are contiguous. */
export interface LandedBars {
  readonly values: KlineValues;
  /** By symbol, without symbols that have no row. */
  readonly stretches: ReadonlyMap<string, SymbolStretch>;
}

/** Finds each symbol's newest `count` bars. */
export function runsOfLanded({ values, stretches }: LandedBars, count: number): Map<string, BarRun> {
  const words = int64Words(values.timestamp);
  const runs = new Map<string, BarRun>();
  for (const [symbol, stretch] of stretches)
    runs.set(
      symbol,
      stretch.ascends
        ? newestOf(symbol, values, stretch, count)
        : runOf(symbol, values, words, [stretch], count),
    );
  return runs;
}

/**
 * Finds each symbol's newest `count` bars in a query's rows, which may be in any order. Rows of a symbol that are
 * contiguous and ascending are not copied; usually all are, unless they come from several files.
 *
 * @param symbols the symbols that the rows' positions refer to.
 */
export function runsOf(rows: KlineRows, symbols: readonly string[], count: number): Map<string, BarRun> {
  const all = valuesOf(rows);
  const words = int64Words(all.timestamp);
  const runs = new Map<string, BarRun>();
  for (const [position, stretches] of stretchesOf(rows)) {
    const symbol = symbols[position] as string;
    const [only] = stretches as [Stretch];
    const isInOrder = stretches.length === 1 && ascends(words, only);
    runs.set(
      symbol,
      isInOrder ? newestOf(symbol, all, only, count) : runOf(symbol, all, words, stretches, count),
    );
  }
  return runs;
}

/** The newest bars of a symbol whose rows are contiguous and ascending. */
function newestOf(symbol: string, values: KlineValues, { start, end }: Stretch, count: number): BarRun {
  return { symbol, values, start: Math.max(start, end - count), end, found: end - start };
}

/** The newest bars of a symbol whose rows are in any order. */
function runOf(
  symbol: string,
  all: KlineValues,
  words: Uint32Array,
  stretches: readonly Stretch[],
  count: number,
): BarRun {
  const found = stretches.reduce((sum, { start, end }) => sum + end - start, 0);
  const parts = [...stretches].sort((a, b) => int64At(words, a.start) - int64At(words, b.start));
  if (parts.every((part, k) => follows(words, part, parts[k - 1])))
    return {
      symbol,
      values: joined(all, parts, found),
      start: Math.max(0, found - count),
      end: found,
      found,
    };
  const newest = inOrder(words, parts).slice(-count);
  return { symbol, values: taken(all, newest), start: 0, end: newest.length, found };
}

/** Which rows of a run have a value in a column; `empty`: there are no rows. */
export type Presence = "all" | "some" | "none" | "empty";

export function presenceOf(
  { validity }: NumberColumn,
  { start, end }: Pick<BarRun, "start" | "end">,
): Presence {
  if (start === end) return "empty";
  if (validity === undefined) return "all";
  const hasFirst = isSet(validity, start);
  const alike = hasFirst ? 0xff : 0;
  for (let row = start; row < end; row++) {
    if ((row & 7) === 0 && validity[row >> 3] === alike) row += 7;
    else if (isSet(validity, row) !== hasFirst) return "some";
  }
  return hasFirst ? "all" : "none";
}

/**
 * Columns of cleared memory. It is one piece, because the garbage collector looks at each piece.
 *
 * @param presenceIn whether a column has memory for values, and for the bits that say which rows have one.
 */
export function newColumns(
  rows: number,
  presenceIn: (name: (typeof DOUBLE_COLUMNS)[number]) => Presence,
): KlineValues {
  const presences = DOUBLE_COLUMNS.map(presenceIn);
  const bitBytes = Math.ceil(rows / 64) * 8;
  const bytesFor = { all: rows * 8, some: rows * 8 + bitBytes, none: 0, empty: 0 } as const;
  const memory = new ArrayBuffer(presences.reduce((sum, presence) => sum + bytesFor[presence], 16 * rows));
  let at = 16 * rows;
  const columns = eachDouble((_, index) => {
    const presence = presences[index] as Presence;
    if (presence === "none" || presence === "empty") return nothing(rows);
    const start = at;
    at += bytesFor[presence];
    const values = new Float64Array(memory, start, rows);
    return {
      values,
      validity: presence === "all" ? undefined : new Uint8Array(memory, at - bitBytes, bitBytes),
    };
  });
  return {
    timestamp: new BigInt64Array(memory, 0, rows),
    volume: new BigInt64Array(memory, 8 * rows, rows),
    doubles: columns,
  };
}

export function bytesOf({ timestamp, volume, doubles }: KlineValues): number {
  let bytes = timestamp.byteLength + volume.byteLength;
  for (const name of DOUBLE_COLUMNS) bytes += doubles[name].values.byteLength;
  return bytes;
}

/** The first row from `start` to `end` whose timestamp is not below a bound (epoch milliseconds). */
export function firstNotBefore({ values, start, end }: KlineRun, bound: number): number {
  // Most bounds are before or after all rows.
  if (start === end || Number(values.timestamp[end - 1]) < bound) return end;
  if (Number(values.timestamp[start]) >= bound) return start;
  return lowerBound(start, end, (row) => Number(values.timestamp[row]) >= bound);
}

function valuesOf({ columns }: KlineRows): KlineValues {
  return {
    timestamp: columns.timestamp.values,
    volume: volumesOf(columns.volume, columns.timestamp.values.length),
    doubles: eachDouble((name): ResultColumn<"double"> => columns[name]),
  };
}

/** Volumes, 0 where another program wrote a bar without one: on the wire each bar has a volume. */
function volumesOf({ values, validity }: ResultColumn<"int64">, rows: number): BigInt64Array {
  if (validity === undefined) return values;
  return BigInt64Array.from({ length: rows }, (_, row) => (isSet(validity, row) ? (values[row] ?? 0n) : 0n));
}

function eachDouble(
  make: (name: (typeof DOUBLE_COLUMNS)[number], index: number) => NumberColumn,
): KlineValues["doubles"] {
  return Object.fromEntries(
    DOUBLE_COLUMNS.map((name, index) => [name, make(name, index)]),
  ) as unknown as KlineValues["doubles"];
}

/** Contiguous rows with the same position, by position. */
function stretchesOf({ rows, columns }: KlineRows): Map<number, Stretch[]> {
  const stretches = new Map<number, Stretch[]>();
  const position = columns.position.values;
  for (let start = 0, end = 0; start < rows; start = end) {
    const own = position[start] as number;
    while (end < rows && position[end] === own) end += 1;
    const list = stretches.get(own);
    if (list === undefined) stretches.set(own, [{ start, end }]);
    else list.push({ start, end });
  }
  return stretches;
}

function ascends(words: Uint32Array, { start, end }: Stretch): boolean {
  for (let row = start + 1; row < end; row++)
    if (int64At(words, row) <= int64At(words, row - 1)) return false;
  return true;
}

/** Whether a stretch is ascending and begins after the end of the previous one. */
function follows(words: Uint32Array, part: Stretch, before: Stretch | undefined): boolean {
  return (
    (before === undefined || int64At(words, part.start) > int64At(words, before.end - 1)) &&
    ascends(words, part)
  );
}

function joined(
  { timestamp, volume, doubles }: KlineValues,
  parts: readonly Stretch[],
  rows: number,
): KlineValues {
  const into = <T extends Float64Array | BigInt64Array>(from: T, to: T): T => {
    let row = 0;
    for (const { start, end } of parts) {
      (to as Float64Array).set(from.subarray(start, end) as Float64Array, row);
      row += end - start;
    }
    return to;
  };
  return {
    timestamp: into(timestamp, new BigInt64Array(rows)),
    volume: into(volume, new BigInt64Array(rows)),
    doubles: eachDouble((name) => {
      const { values, validity } = doubles[name];
      if (values.length === 0) return nothing(rows);
      const own = into(values, new Float64Array(rows));
      if (validity === undefined) return { values: own, validity };
      const bits = new Uint8Array(Math.ceil(rows / 8));
      let row = 0;
      for (const { start, end } of parts) {
        copyBits(validity, start, end - start, bits, row);
        row += end - start;
      }
      return { values: own, validity: bits };
    }),
  };
}

/** The rows of overlapping stretches, ascending by timestamp. */
function inOrder(words: Uint32Array, stretches: readonly Stretch[]): number[] {
  return stretches
    .flatMap(({ start, end }) => Array.from({ length: end - start }, (_, k) => start + k))
    .sort((a, b) => int64At(words, a) - int64At(words, b));
}

function taken({ timestamp, volume, doubles }: KlineValues, rows: readonly number[]): KlineValues {
  const integers = (from: BigInt64Array): BigInt64Array =>
    BigInt64Array.from(rows, (row) => from[row] as bigint);
  return {
    timestamp: integers(timestamp),
    volume: integers(volume),
    doubles: eachDouble((name) => {
      const { values, validity } = doubles[name];
      if (values.length === 0) return nothing(rows.length);
      const own = Float64Array.from(rows, (row) => values[row] as number);
      if (validity === undefined) return { values: own, validity };
      const bits = new Uint8Array(Math.ceil(rows.length / 8));
      for (const [k, row] of rows.entries()) if (isSet(validity, row)) setBit(bits, k);
      return { values: own, validity: bits };
    }),
  };
}

const NO_VALUES = new Float64Array(0);
let noBits = new Uint8Array(0);

/** A column of nulls. It has no values, and its bitmap is shared. */
function nothing(rows: number): NumberColumn {
  const bytes = Math.ceil(rows / 8);
  if (noBits.length < bytes) noBits = new Uint8Array(bytes * 2);
  return { values: NO_VALUES, validity: noBits.subarray(0, bytes) };
}

import {
  DOUBLE_COLUMNS,
  type DoubleColumn,
  type KlineColumns,
  type NumberColumn,
  OPTIONAL_COLUMNS,
  WIRE_COLUMNS,
} from "../kline-columns.js";
import { ByteWriter } from "./byte-writer.js";

/**
 * Writes bars as the body of a K-line answer: the mirror image of {@link decodeKlines}.
 *
 * `map` gives `{"data":{symbol: {...}}}`, with an entry for every symbol of the dictionary; `single` gives
 * `{"data":{...}}` of the only symbol. Optional columns in which a symbol has no value are left out.
 */
export function encodeKlines(columns: KlineColumns, shape: "map" | "single"): Uint8Array {
  const out = new ByteWriter(256 + columns.rows * 64);
  out.ascii('{"data":');
  if (shape === "map") out.byte(0x7b);
  let start = 0;
  for (const [index, symbol] of columns.symbols.entries()) {
    let end = start;
    while (end < columns.rows && columns.symbolIndex[end] === index) end += 1;
    if (shape === "map") {
      if (index > 0) out.byte(0x2c);
      out.jsonString(symbol);
      out.byte(0x3a);
    }
    writeBars(out, columns, start, end);
    start = end;
  }
  if (shape === "map") out.byte(0x7d);
  else if (columns.symbols.length === 0) writeBars(out, columns, 0, 0);
  out.byte(0x7d);
  return out.view();
}

function writeBars(out: ByteWriter, columns: KlineColumns, start: number, end: number): void {
  let separator = 0x7b;
  for (const name of WIRE_COLUMNS) {
    const doubles = isDouble(name) ? columns.doubles[name] : undefined;
    if (doubles && OPTIONAL_COLUMNS.has(name) && nextPresent(doubles, start, end) === end) continue;
    out.byte(separator);
    separator = 0x2c;
    out.ascii(`"${name}":[`);
    if (doubles) writeDoubles(out, doubles, start, end);
    else out.integers(columns[name as "timestamp" | "volume"].subarray(start, end));
    if (end > start) out.dropByte();
    out.byte(0x5d);
  }
  out.byte(0x7d);
}

function writeDoubles(out: ByteWriter, column: NumberColumn, start: number, end: number): void {
  for (let at = start; at < end; ) {
    const present = nextPresent(column, at, end);
    for (; at < present; at++) out.ascii("null,");
    const absent = nextAbsent(column, at, end);
    out.doubles(column.values.subarray(at, absent));
    at = absent;
  }
}

function isDouble(name: string): name is DoubleColumn {
  return (DOUBLE_COLUMNS as readonly string[]).includes(name);
}

function isPresent(column: NumberColumn, index: number): boolean {
  const { validity } = column;
  return validity === undefined || ((validity[index >> 3] as number) & (1 << (index & 7))) !== 0;
}

/** The first row from `start` on that has a value; `end` where none before it has. */
function nextPresent(column: NumberColumn, start: number, end: number): number {
  let row = start;
  while (row < end && !isPresent(column, row)) row += column.validity?.[row >> 3] === 0 ? 8 - (row & 7) : 1;
  return Math.min(row, end);
}

/** The first row from `start` on that has none; `end` where all before it have. */
function nextAbsent(column: NumberColumn, start: number, end: number): number {
  if (column.validity === undefined) return end;
  let row = start;
  while (row < end && isPresent(column, row)) row += 1;
  return row;
}

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
    if (doubles && OPTIONAL_COLUMNS.has(name) && !hasValue(doubles, start, end)) continue;
    out.byte(separator);
    separator = 0x2c;
    out.ascii(`"${name}":[`);
    if (doubles) writeDoubles(out, doubles, start, end);
    else writeInt64(out, name === "timestamp" ? columns.timestamp : columns.volume, start, end);
    out.byte(0x5d);
  }
  out.byte(0x7d);
}

function writeDoubles(out: ByteWriter, column: NumberColumn, start: number, end: number): void {
  for (let i = start; i < end; i++) {
    if (i > start) out.byte(0x2c);
    if (isPresent(column, i)) out.double(column.values[i] as number);
    else out.ascii("null");
  }
}

function writeInt64(out: ByteWriter, values: BigInt64Array, start: number, end: number): void {
  const words = new Int32Array(values.buffer, values.byteOffset, values.length * 2);
  for (let i = start; i < end; i++) {
    if (i > start) out.byte(0x2c);
    out.int64(values, words, i);
  }
}

function isDouble(name: string): name is DoubleColumn {
  return (DOUBLE_COLUMNS as readonly string[]).includes(name);
}

function isPresent(column: NumberColumn, index: number): boolean {
  const { validity } = column;
  return validity === undefined || ((validity[index >> 3] as number) & (1 << (index & 7))) !== 0;
}

function hasValue(column: NumberColumn, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (isPresent(column, i)) return true;
  return false;
}

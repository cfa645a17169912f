/*
 * The number kernel: converts the text of numbers in JSON arrays to values, and values to text. It is written in
 * AssemblyScript, a dialect of TypeScript for WebAssembly, which has vectors and 64-bit integers.
 */
import { fillTables } from "./layout";
import { scanNumbers } from "./scan-numbers";
import { writeNumbers } from "./write-numbers";

export {
  CLOSED,
  HEAD_BYTES,
  HEADS,
  INPUT,
  INPUT_BYTES,
  LEAST_POWER_OF_FIVE,
  POWER_OF_FIVE,
  RECORD_ROWS,
  RECORDS,
  RUN_VALUES,
  STOPPED_AT,
  TEXT,
  TEXT_BYTES,
  TEXT_END,
  VALUES,
} from "./layout";
export { scanMembers } from "./scan-members";

export function scanDoubles(from: usize, end: usize, maxCount: u32): u32 {
  return scanNumbers<f64>(from, end, maxCount);
}

export function scanIntegers(from: usize, end: usize, maxCount: u32): u32 {
  return scanNumbers<i64>(from, end, maxCount);
}

export function writeDoubles(from: usize, end: usize): usize {
  return writeNumbers<f64>(from, end);
}

export function writeIntegers(from: usize, end: usize): usize {
  return writeNumbers<i64>(from, end);
}

fillTables();

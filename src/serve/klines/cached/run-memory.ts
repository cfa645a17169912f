import { copyBits, isPresent } from "../../../core/bits.js";
import { DOUBLE_COLUMNS, type KlineValues, type NumberColumn } from "../../../wire/kline-columns.js";
import { type BarRun, eachDouble, nothing } from "../bar-runs.js";

/** Rows for which memory has space at first beyond those that it is made for, at least. */
const SPARE_ROWS = 16;

/**
 * Memory of columns with space for later rows, which are appended to those that are there: a typed array for each column
 * of each version of a symbol would take longer than its few rows. Rows that were appended never change, since requests may be
 * reading them.
 */
export interface RunMemory {
  readonly values: KlineValues;
  readonly capacity: number;
  /** Rows that are there. */
  used: number;
}

/** A cached run, and the memory that it is in; undefined where that has no space. */
export interface GrowingRun extends BarRun {
  readonly memory?: RunMemory | undefined;
}

/** The memory of a run if it has space for more rows, in the columns that those have; else new memory without rows. */
export function memoryFor(run: GrowingRun, later: BarRun, rows: number): RunMemory {
  const { memory } = run;
  if (memory !== undefined && memory.used + rows <= memory.capacity && hasColumns(memory, later))
    return memory;
  const most = run.end - run.start + rows;
  const capacity = most + Math.max(SPARE_ROWS, most >> 2);
  const values: KlineValues = {
    timestamp: new BigInt64Array(capacity),
    volume: new BigInt64Array(capacity),
    doubles: eachDouble((name) => {
      const presences = [run, later].map((one) => presenceOf(one.values.doubles[name], one));
      if (presences.every((presence) => presence === "none" || presence === "empty"))
        return nothing(capacity);
      const validity = presences.every((presence) => presence === "all" || presence === "empty")
        ? undefined
        : new Uint8Array(Math.ceil(capacity / 8));
      return { values: new Float64Array(capacity), validity };
    }),
  };
  return { values, capacity, used: 0 };
}

/** Appends rows. Those that are null throughout leave the values of a column as they are, below its nulls. */
export function appendRows(memory: RunMemory, { values, start, end }: BarRun): void {
  const { used: at } = memory;
  const { timestamp, volume, doubles } = memory.values;
  timestamp.set(values.timestamp.subarray(start, end), at);
  volume.set(values.volume.subarray(start, end), at);
  for (const name of DOUBLE_COLUMNS) {
    const [from, to] = [values.doubles[name], doubles[name]];
    if (to.values.length === 0) continue;
    if (from.values.length > 0)
      for (let row = start; row < end; row++) to.values[at + row - start] = from.values[row] as number;
    if (to.validity !== undefined) copyBits(from.validity, start, end - start, to.validity, at);
  }
  memory.used += end - start;
}

/** Whether the rows of a run have values only where memory has them, and nulls only where it has bits for them. */
function hasColumns(memory: RunMemory, later: BarRun): boolean {
  return DOUBLE_COLUMNS.every((name) => {
    const own = memory.values.doubles[name];
    const presence = presenceOf(later.values.doubles[name], later);
    if (presence === "empty") return true;
    return own.values.length === 0 ? presence === "none" : own.validity !== undefined || presence === "all";
  });
}

/** Which rows of a run have a value in a column. */
function presenceOf(
  { validity }: NumberColumn,
  { start, end }: Pick<BarRun, "start" | "end">,
): "all" | "some" | "none" | "empty" {
  if (start === end) return "empty";
  if (validity === undefined) return "all";
  let present = 0;
  for (let row = start; row < end; row++) if (isPresent(validity, row)) present += 1;
  return present === 0 ? "none" : present === end - start ? "all" : "some";
}

import { copyBits } from "../../../core/bits.js";
import { DOUBLE_COLUMNS, type KlineValues } from "../../../wire/kline-columns.js";
import { type BarRun, newColumns, type Presence, presenceOf } from "../bar-runs.js";

/** Least number of spare rows of new memory, in addition to the rows that it is allocated for. */
const SPARE_ROWS = 16;

/**
 * Memory of columns with space for later rows, which are appended to the existing ones. Allocating a typed array for
 * each column of each version of a symbol would take longer than copying its few rows. Appended rows never change,
 * since requests may be reading them.
 */
export interface RunMemory {
  readonly values: KlineValues;
  readonly capacity: number;
  /** Number of rows that are in use. */
  used: number;
}

/** A cached run and its memory. The memory is undefined where it has no space for later rows. */
export interface GrowingRun extends BarRun {
  readonly memory?: RunMemory | undefined;
}

/**
 * The memory of a run, if it has space for `rows` more rows in the columns of `later`; else new memory without rows.
 */
export function memoryFor(run: GrowingRun, later: BarRun, rows: number): RunMemory {
  const { memory } = run;
  if (memory !== undefined && memory.used + rows <= memory.capacity && hasColumns(memory, later))
    return memory;
  const most = run.end - run.start + rows;
  const capacity = most + Math.max(SPARE_ROWS, most >> 2);
  const values = newColumns(capacity, (name) => {
    const presences = [run, later].map((one) => presenceOf(one.values.doubles[name], one));
    const isEach = (...some: readonly Presence[]): boolean =>
      presences.every((presence) => presence === "empty" || some.includes(presence));
    return isEach("none") ? "none" : isEach("all") ? "all" : "some";
  });
  return { values, capacity, used: 0 };
}

/**
 * Appends rows. Where all values of a column are null, its memory of values is not written: only its nulls are marked.
 */
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

/**
 * Whether rows of a run fit into the columns of memory: it must have values where they do, and a bitmap where they have
 * nulls.
 */
function hasColumns(memory: RunMemory, later: BarRun): boolean {
  return DOUBLE_COLUMNS.every((name) => {
    const own = memory.values.doubles[name];
    const presence = presenceOf(later.values.doubles[name], later);
    if (presence === "empty") return true;
    return own.values.length === 0 ? presence === "none" : own.validity !== undefined || presence === "all";
  });
}

import { copyBits } from "../../../core/bits.js";
import { DOUBLE_COLUMNS, type KlineValues, type NumberColumn } from "../../../wire/kline-columns.js";
import { type BarRun, newColumns, type Presence, presenceOf } from "../bar-runs.js";

/**
 * Spare rows of new memory, in addition to the rows that it is allocated for: a quarter as many, but not fewer or more
 * than this. A long run is copied once in some hundred commits.
 */
const LEAST_SPARE_ROWS = 16;
const MOST_SPARE_ROWS = 256;
/** Most rows of columns that several runs share, about 300 KB. */
const BLOCK_ROWS = 4096;
/** Fewer rows than this are copied one by one: to make a view of a typed array takes as long as copying them. */
const FEW_ROWS = 16;

/**
 * Rows of columns for one run, with space for later rows, which are appended to the existing ones. Appended rows never
 * change, since requests may be reading them.
 */
export interface RunMemory {
  readonly values: KlineValues;
  /** The end of its rows, exclusive. */
  readonly limit: number;
  /** The end of the rows that are in use, exclusive. */
  used: number;
}

/** A cached run and its memory. The memory is undefined where it has no space for later rows. */
export interface GrowingRun extends BarRun {
  readonly memory?: RunMemory | undefined;
}

/**
 * Allocates memory for runs. Several share the same columns: arrays for each of thousands of symbols would take longer
 * to allocate, to collect as garbage, and to find in the processor's caches than their few rows to copy.
 */
export class RunBlocks {
  #runs: number;
  #values: KlineValues | undefined;
  #used = 0;

  /** @param runs number of runs that probably need memory. */
  constructor(runs: number) {
    this.#runs = runs;
  }

  /** Cleared memory for a number of rows of the columns that some runs have. */
  take(rows: number, runs: readonly BarRun[]): RunMemory {
    let values = this.#values;
    const fits = values !== undefined && this.#used + rows <= values.timestamp.length;
    if (values === undefined || !fits || !runs.every((run) => hasColumns(values as KlineValues, run))) {
      values = columnsFor(Math.max(rows, Math.min(BLOCK_ROWS, rows * this.#runs)), runs, values);
      this.#values = values;
      this.#used = 0;
    }
    const used = this.#used;
    this.#used += rows;
    this.#runs -= 1;
    return { values, limit: this.#used, used };
  }
}

/**
 * Columns for runs. @param before columns of the same block of runs: the new ones also fit for runs that these fit for.
 */
function columnsFor(rows: number, runs: readonly BarRun[], before: KlineValues | undefined): KlineValues {
  return newColumns(rows, (name) => {
    const presences = runs.map((run) => presenceOf(run.values.doubles[name], run));
    if (before !== undefined) presences.push(presenceIn(before.doubles[name]));
    const isEach = (only: Presence): boolean =>
      presences.every((presence) => presence === "empty" || presence === only);
    return isEach("none") ? "none" : isEach("all") ? "all" : "some";
  });
}

/** Which rows of a column have memory for a value. */
function presenceIn({ values, validity }: NumberColumn): Presence {
  if (values.length === 0) return "none";
  return validity === undefined ? "all" : "some";
}

/** A copy of only the run's rows, so that the other memory of its columns can be freed. */
export function copyOf(run: BarRun, blocks: RunBlocks = new RunBlocks(1)): BarRun {
  const memory = blocks.take(run.end - run.start, [run]);
  const { values, used: start } = memory;
  appendRows(memory, run);
  return { symbol: run.symbol, values, start, end: memory.used, found: run.found };
}

/**
 * The memory of a run, if it has space for `rows` more rows in the columns of `later`; else new memory without rows.
 */
export function memoryFor(run: GrowingRun, later: BarRun, rows: number, blocks: RunBlocks): RunMemory {
  const { memory } = run;
  if (memory !== undefined && memory.used + rows <= memory.limit && hasColumns(memory.values, later))
    return memory;
  const most = run.end - run.start + rows;
  const spare = Math.min(MOST_SPARE_ROWS, Math.max(LEAST_SPARE_ROWS, most >> 2));
  return blocks.take(most + spare, [run, later]);
}

/** Whether there is memory for `rows` more rows directly after those of a run. */
export function hasSpace({ memory, end }: GrowingRun, rows: number): boolean {
  // Rows in the memory after those of the run belong to another version, which other requests read.
  return memory !== undefined && memory.used === end && end + rows <= memory.limit;
}

/**
 * Appends rows. Where all values of a column are null, its memory of values is not written: only its nulls are marked.
 */
export function appendRows(memory: RunMemory, { values, start, end }: BarRun): void {
  const { used: at } = memory;
  const { timestamp, volume, doubles } = memory.values;
  copyRows(values.timestamp, start, end, timestamp, at);
  copyRows(values.volume, start, end, volume, at);
  for (const name of DOUBLE_COLUMNS) {
    const [from, to] = [values.doubles[name], doubles[name]];
    if (to.values.length === 0) continue;
    if (from.values.length > 0)
      for (let row = start; row < end; row++) to.values[at + row - start] = from.values[row] as number;
    if (to.validity !== undefined) copyBits(from.validity, start, end - start, to.validity, at);
  }
  memory.used += end - start;
}

function copyRows(from: BigInt64Array, start: number, end: number, to: BigInt64Array, at: number): void {
  if (end - start < FEW_ROWS)
    for (let row = start; row < end; row++) to[at + row - start] = from[row] as bigint;
  else to.set(from.subarray(start, end), at);
}

/**
 * Whether rows of a run fit into columns: they must have memory for values where the run has one, and a bitmap where it
 * has nulls.
 */
function hasColumns({ doubles }: KlineValues, run: BarRun): boolean {
  return DOUBLE_COLUMNS.every((name) => {
    const own = doubles[name];
    const presence = presenceOf(run.values.doubles[name], run);
    if (presence === "empty") return true;
    return own.values.length === 0 ? presence === "none" : own.validity !== undefined || presence === "all";
  });
}

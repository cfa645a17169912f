import {
  DOUBLE_COLUMNS,
  type DoubleColumn,
  type KlineColumns,
  OPTIONAL_COLUMNS,
  WIRE_COLUMNS,
} from "../kline-columns.js";
import { GrowingDoubles, GrowingInt64 } from "./growing-column.js";

/** Most bytes of unused buffers that a pool stores: those of a few responses of the largest size. */
const MAX_IDLE_BYTES = 256 * 2 ** 20;

/** One bit for each column that a symbol must have. Bits are in the interface's order. */
const REQUIRED = WIRE_COLUMNS.reduce(
  (bits, name, index) => bits | (OPTIONAL_COLUMNS.has(name) ? 0 : 1 << index),
  0,
);

/** The column buffers into which one response is decoded. */
export class KlineBuffers {
  readonly timestamp = new GrowingInt64();
  readonly volume = new GrowingInt64();
  readonly doubles: ReadonlyMap<DoubleColumn, GrowingDoubles> = new Map(
    DOUBLE_COLUMNS.map((name) => [name, new GrowingDoubles()]),
  );
  /** Every column, in the interface's order. */
  readonly all: readonly (GrowingDoubles | GrowingInt64)[] = WIRE_COLUMNS.map((name) =>
    name === "timestamp" || name === "volume"
      ? this[name]
      : (this.doubles.get(name as DoubleColumn) as GrowingDoubles),
  );
  #symbolIndex = new Int32Array(0);

  get bytes(): number {
    return this.all.reduce((sum, { values }) => sum + values.byteLength, this.#symbolIndex.byteLength);
  }

  /**
   * Whether all required columns were read (`read` has a bit for each, in the interface's order) and all have the same
   * number of entries from a row on: then no column needs a separate check.
   */
  areWhole(read: number, start: number, entries: number): boolean {
    for (let index = 0; index < this.all.length; index++) {
      const { length } = this.all[index] as GrowingDoubles | GrowingInt64;
      if (read & (1 << index) && length - start !== entries) return false;
    }
    return (read & REQUIRED) === REQUIRED;
  }

  /** Removes rows from the end of the buffers. @param removed the removed rows, counted from `start`. */
  remove(start: number, rows: number, removed: ReadonlySet<number>): void {
    let to = start;
    for (let k = 0; k < rows; k++) {
      if (removed.has(k)) continue;
      for (const column of this.all) column.move(start + k, to);
      to += 1;
    }
    this.truncate(to);
  }

  truncate(length: number): void {
    for (const column of this.all) column.truncate(length);
  }

  /** Columns over the buffers, without a copy. @param ends the row after the last one of each symbol. */
  columns(symbols: readonly string[], ends: readonly number[]): KlineColumns {
    const rows = ends.at(-1) ?? 0;
    if (this.#symbolIndex.length < rows) this.#symbolIndex = new Int32Array(this.timestamp.values.length);
    let start = 0;
    for (let index = 0; index < ends.length; index++) {
      const end = ends[index] as number;
      if (end - start === 1) this.#symbolIndex[start] = index;
      else this.#symbolIndex.fill(index, start, end);
      start = end;
    }
    const doubles = [...this.doubles].map(([name, column]) => [name, column.column(rows)]);
    return {
      rows,
      symbols,
      symbolIndex: this.#symbolIndex.subarray(0, rows),
      timestamp: this.timestamp.values.subarray(0, rows),
      volume: this.volume.values.subarray(0, rows),
      doubles: Object.fromEntries(doubles) as KlineColumns["doubles"],
    };
  }
}

/** Buffers that responses use again: after the first response, they are large enough and their memory is mapped. */
export class KlineBufferPool {
  readonly #idle: KlineBuffers[] = [];
  #idleBytes = 0;

  take(): KlineBuffers {
    const buffers = this.#idle.pop();
    if (buffers === undefined) return new KlineBuffers();
    this.#idleBytes -= buffers.bytes;
    return buffers;
  }

  /** After that, neither the buffers nor columns over them may be used. */
  give(buffers: KlineBuffers): void {
    buffers.truncate(0);
    if (this.#idleBytes + buffers.bytes > MAX_IDLE_BYTES) return;
    this.#idleBytes += buffers.bytes;
    this.#idle.push(buffers);
  }
}

import { DOUBLE_COLUMNS, type DoubleColumn, type KlineColumns, WIRE_COLUMNS } from "../kline-columns.js";
import { GrowingDoubles, GrowingInt64 } from "./growing-column.js";

/** Most bytes that a pool keeps for later: the buffers of a few full answers. */
const MAX_IDLE_BYTES = 256 * 2 ** 20;

/** The column buffers that one answer is read into. */
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

  /** Bytes of memory that are held. */
  get bytes(): number {
    return this.all.reduce((sum, { values }) => sum + values.byteLength, this.#symbolIndex.byteLength);
  }

  truncate(length: number): void {
    for (const column of this.all) column.truncate(length);
  }

  /**
   * Lays columns over the buffers.
   *
   * @param symbols each with the row at which its bars end, in the order of the rows.
   */
  columns(symbols: readonly string[], ends: readonly number[]): KlineColumns {
    const rows = ends.at(-1) ?? 0;
    if (this.#symbolIndex.length < rows) this.#symbolIndex = new Int32Array(this.timestamp.values.length);
    let start = 0;
    for (const [index, end] of ends.entries()) {
      this.#symbolIndex.fill(index, start, end);
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

/** Buffers that answers lend each other: an answer after the first finds them grown, and their pages mapped. */
export class KlineBufferPool {
  readonly #idle: KlineBuffers[] = [];
  #idleBytes = 0;

  /** Buffers for one answer, empty. */
  take(): KlineBuffers {
    const buffers = this.#idle.pop();
    if (buffers === undefined) return new KlineBuffers();
    this.#idleBytes -= buffers.bytes;
    return buffers;
  }

  /** Takes buffers back; nobody may use them, or columns over them, any more. */
  give(buffers: KlineBuffers): void {
    buffers.truncate(0);
    if (this.#idleBytes + buffers.bytes > MAX_IDLE_BYTES) return;
    this.#idleBytes += buffers.bytes;
    this.#idle.push(buffers);
  }
}

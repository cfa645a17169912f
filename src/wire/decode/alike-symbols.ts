import { int64At, int64Words } from "../../core/bits.js";
import { type MemberPattern, memberPattern, numberKernel } from "../kernel/number-kernel.js";
import { WIRE_COLUMNS } from "../kline-columns.js";
import { GrowingInt64 } from "./growing-column.js";
import type { MemberRuns } from "./json/json-sink.js";
import type { KlineBuffers } from "./kline-buffers.js";

/** The accepted symbols of a response, and the number of bars of each. */
export class AcceptedSymbols {
  readonly symbols: string[] = [];
  /** For each symbol, the row after its last bar. */
  readonly ends: number[] = [];
  /** Number of bars of each symbol in the response, before any bar was rejected. Rejected symbols are included. */
  readonly received = new Map<string, number>();
  /** Number of rows of all symbols, which is the row at which the next symbol begins. */
  rows = 0;

  accept(symbol: string, end: number): void {
    this.symbols.push(symbol);
    this.ends.push(end);
    this.rows = end;
  }
}

/**
 * Most bars of a symbol after which the next symbols are expected to be short: with more, most time goes into numbers.
 */
const MOST_BARS = 16;

/** The bounds that bars must meet to be accepted without a check of each symbol's columns. */
interface Bounds {
  readonly first: number;
  readonly last: number;
  readonly maxBars: number;
}

const TIMESTAMP = WIRE_COLUMNS.indexOf("timestamp");

/**
 * Decodes symbols with few bars that have the same columns in the same order as the previous symbol. All their bytes
 * except names and numbers are known, so the kernel reads many of them at a time. Symbols with anything unusual are
 * left to {@link SymbolBars}.
 */
export class AlikeSymbols implements MemberRuns {
  readonly #buffers: KlineBuffers;
  readonly #accepted: AcceptedSymbols;
  readonly #bounds: Bounds;
  /** Whether a symbol is to be accepted. The call also counts it as seen. */
  readonly #takes: (symbol: string) => boolean;
  /** The columns of the pattern in the order of the document, as indexes in the interface's order. */
  #order: readonly number[] = [];
  #pattern: MemberPattern | undefined;
  #isShort = false;

  constructor(
    buffers: KlineBuffers,
    accepted: AcceptedSymbols,
    bounds: Bounds,
    takes: (symbol: string) => boolean,
  ) {
    this.#buffers = buffers;
    this.#accepted = accepted;
    this.#bounds = bounds;
    this.#takes = takes;
  }

  /** Whether the next symbols may have the same form. */
  get isExpected(): boolean {
    return this.#isShort && this.#pattern !== undefined;
  }

  get pattern(): MemberPattern {
    return this.#pattern as MemberPattern;
  }

  /**
   * Learns the form of a symbol whose columns fit together. @param order its keys, as indexes in the interface's order;
   * -1: not a column. @param bars 0 where one of them has a defect.
   */
  learn(order: readonly number[], bars: number): void {
    this.#isShort = bars > 0 && bars <= MOST_BARS;
    if (!this.#isShort || isEqual(order, this.#order)) return;
    this.#order = [...order];
    const columns = order.map((index) => ({
      name: WIRE_COLUMNS[index] ?? "",
      type: this.#buffers.all[index] instanceof GrowingInt64 ? ("int64" as const) : ("double" as const),
    }));
    this.#pattern = order.includes(-1) ? undefined : memberPattern(columns);
  }

  push(count: number, nameOf: (index: number) => string): number {
    const { first, last, maxBars } = this.#bounds;
    const accepted = this.#accepted;
    const start = accepted.rows;
    let all = 0;
    for (let index = 0; index < count; index++) all += numberKernel.memberRows(index);
    const times = int64Words(numberKernel.memberIntegers(this.#order.indexOf(TIMESTAMP), all));
    let [taken, rows] = [0, 0];
    for (; taken < count; taken++) {
      const own = numberKernel.memberRows(taken);
      if (own > maxBars || !ascends(times, rows, own, first, last)) break;
      const symbol = nameOf(taken);
      if (!this.#takes(symbol)) break;
      rows += own;
      accepted.received.set(symbol, own);
      accepted.accept(symbol, start + rows);
    }
    if (rows > 0) this.#pushColumns(rows);
    // The kernel has read the other symbols in vain, so it is not used again before a symbol without a defect.
    if (taken < count) this.#isShort = false;
    return taken;
  }

  #pushColumns(rows: number): void {
    for (const [index, column] of this.#buffers.all.entries()) {
      const at = this.#order.indexOf(index);
      if (column instanceof GrowingInt64) column.pushRun(numberKernel.memberIntegers(at, rows));
      else if (at < 0) column.pushNulls(rows);
      else column.pushRun(numberKernel.memberDoubles(at, rows));
    }
  }
}

/** Whether some timestamps ascend strictly from `first` to `last`. */
function ascends(times: Uint32Array, start: number, count: number, first: number, last: number): boolean {
  let before = first - 1;
  for (let row = start; row < start + count; row++) {
    const time = int64At(times, row);
    if (time <= before) return false;
    before = time;
  }
  return before <= last;
}

function isEqual(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index]);
}

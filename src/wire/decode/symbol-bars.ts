import { WireError } from "../../core/errors.js";
import type { IssueLog, IssueRule } from "../../core/issue.js";
import { type KlineColumns, OPTIONAL_COLUMNS, WIRE_COLUMNS } from "../kline-columns.js";
import { AcceptedSymbols, AlikeSymbols } from "./alike-symbols.js";
import { GrowingDoubles, type GrowingInt64 } from "./growing-column.js";
import type { MemberRuns, NumberRuns } from "./json/json-sink.js";
import type { StatedNumber } from "./json/number-token.js";
import type { KlineBuffers } from "./kline-buffers.js";
import { EARLIEST_MS, LATEST_MS, sortedIssue, timeIssue } from "./time-issues.js";

/** The bars of a decoded K-line response. */
export interface DecodedBars {
  readonly columns: KlineColumns;
  /** Number of bars of each symbol in the response, before any was rejected. */
  readonly received: ReadonlyMap<string, number>;
  /**
   * Timestamps (epoch milliseconds) of the bars that were rejected for a defect, by symbol; absent where not all are
   * known.
   */
  readonly setAsideAt: ReadonlyMap<string, readonly number[]>;
}

/** Of a complete body. */
export interface DecodedDocument extends DecodedBars {
  /** Symbols in the body that may be unusable: all symbols except those that were read together with others. */
  readonly named: ReadonlySet<string>;
}

const INDEX: ReadonlyMap<string, number> = new Map(WIRE_COLUMNS.map((name, index) => [name, index]));
const NO_COLUMN = -1;
const TIMESTAMP = WIRE_COLUMNS.indexOf("timestamp");

/**
 * Decodes symbols into the column buffers of a response. If the columns of a symbol do not fit together, all its bars
 * are removed; else bars with a defect are, and unsorted bars are sorted. Each case is reported as an issue.
 */
export class SymbolBars implements NumberRuns {
  readonly #issues: IssueLog;
  readonly #maxBars: number;
  readonly #first: number;
  readonly #last: number;
  readonly #buffers: KlineBuffers;
  readonly #accepted = new AcceptedSymbols();
  readonly #alike: AlikeSymbols | undefined;
  #symbol = "";
  /** Offset in the document at which the symbol's object begins. */
  #offset = 0;
  /** The first rule that made the whole symbol invalid; undefined where there is none. */
  #failed: IssueRule | undefined;
  /** Index, in the interface's order, of the column whose key was read last. */
  #index = NO_COLUMN;
  #target: GrowingDoubles | GrowingInt64;
  /** One bit for each column whose key was read, and one (`#columns`) for each that was read as an array. */
  #keys = 0;
  #columns = 0;
  /** Number of entries that the current column did not accept, and the largest such number in the symbol's columns. */
  #left = 0;
  #mostLeft = 0;
  /** The keys of the symbol in the order of the document, as indexes of columns. */
  readonly #order: number[] = [];
  /** Offset in the document of each column's key. */
  readonly #keyOffsets = WIRE_COLUMNS.map(() => 0);
  /** Rows with a defect, counted from the symbol's first row. */
  readonly #bad = new Set<number>();
  /** Whether the timestamp of one of these rows is unknown. */
  #hasBadTime = false;
  readonly #setAsideAt = new Map<string, readonly number[]>();

  /**
   * @param takes whether a symbol with the same form as the previous one is accepted, which then counts as seen.
   * @default symbols are decoded one by one
   */
  constructor(
    buffers: KlineBuffers,
    issues: IssueLog,
    maxBars: number,
    window: { first: number; last: number } | undefined,
    takes?: (symbol: string) => boolean,
  ) {
    this.#buffers = buffers;
    this.#target = buffers.timestamp;
    this.#issues = issues;
    this.#maxBars = maxBars;
    this.#first = Math.max(window?.first ?? EARLIEST_MS, EARLIEST_MS);
    this.#last = Math.min(window?.last ?? LATEST_MS, LATEST_MS);
    const bounds = { first: this.#first, last: this.#last, maxBars };
    this.#alike = takes && new AlikeSymbols(buffers, this.#accepted, bounds, takes);
  }

  /** The receiver of the next symbols, if they may have the form of the last one. */
  get members(): MemberRuns | undefined {
    return this.#alike?.isExpected ? this.#alike : undefined;
  }

  /** Whether the response had bars of a symbol, usable or not. */
  hasReceived(symbol: string): boolean {
    return this.#accepted.received.has(symbol);
  }

  get #rows(): number {
    return this.#accepted.rows;
  }

  begin(symbol: string, offset: number): void {
    this.#symbol = symbol;
    this.#offset = offset;
    this.#failed = undefined;
    this.#keys = 0;
    this.#columns = 0;
    this.#mostLeft = 0;
    this.#order.length = 0;
    if (this.#bad.size > 0) this.#bad.clear();
    this.#hasBadTime = false;
  }

  key(text: string, offset: number): void {
    this.#index = INDEX.get(text) ?? NO_COLUMN;
    if (this.#order.length <= WIRE_COLUMNS.length) this.#order.push(this.#index);
    if (this.#index === NO_COLUMN) return;
    const bit = 1 << this.#index;
    if (this.#keys & bit) {
      throw new WireError("malformed", `${this.#symbol} repeats the column "${text}"`, offset);
    }
    this.#keys |= bit;
    this.#keyOffsets[this.#index] = offset;
  }

  get isColumn(): boolean {
    return this.#index !== NO_COLUMN;
  }

  /** Begins the column whose key was read last: values now go to this column. */
  beginColumn(): void {
    this.#left = 0;
    this.#columns |= 1 << this.#index;
    this.#target = this.#buffers.all[this.#index] as GrowingDoubles | GrowingInt64;
  }

  get type(): "double" | "int64" {
    return this.#target instanceof GrowingDoubles ? "double" : "int64";
  }

  get capacity(): number {
    return this.#maxBars - (this.#target.length - this.#rows);
  }

  push(values: Float64Array | BigInt64Array): void {
    this.#target.pushRun(values as never);
  }

  number(token: StatedNumber, offset: number): void {
    if (this.#isFull(offset)) return;
    const target = this.#target;
    if (target instanceof GrowingDoubles) {
      const value = token.toDouble();
      if (Number.isFinite(value)) return target.push(value);
      return this.#defect("out_of_range", `is ${token.text()}, not a double`, offset);
    }
    const small = token.toSmallInteger();
    if (!Number.isNaN(small)) return target.pushSmall(small);
    const big = token.toBigInt();
    if (typeof big === "bigint") return target.pushBig(big);
    if (big === "fraction") this.#defect("fraction_in_integer", `is ${token.text()}, not an integer`, offset);
    else this.#defect("out_of_range", `is ${token.text()}, beyond 64 bits`, offset);
  }

  null(offset: number): void {
    if (this.#isFull(offset)) return;
    if (OPTIONAL_COLUMNS.has(this.#column)) (this.#target as GrowingDoubles).pushNulls(1);
    else this.#defect("null_in_required", "is null in a required column", offset);
  }

  wrongType(kind: string, offset: number): void {
    if (this.#isFull(offset)) return;
    this.#defect("wrong_type", `is ${kind}, not a number`, offset);
  }

  /** Records a column whose value is not an array, unless it is optional and null. */
  notAnArray(kind: string, offset: number): void {
    if (kind === "null" && OPTIONAL_COLUMNS.has(this.#column)) return;
    this.#fail("wrong_type", `is ${kind}, not an array`, this.#column, offset);
  }

  #fail(rule: IssueRule, text: string, column: string, byteOffset: number): void {
    this.#failed ??= rule;
    const message = `${this.#symbol}: ${column} ${text}`;
    this.#issues.add({ rule, symbol: this.#symbol, column, message, byteOffset, rejected: 0 });
  }

  end(): void {
    const { timestamp, all } = this.#buffers;
    const rows = timestamp.length - this.#rows;
    let longest = 0;
    for (const column of all) longest = Math.max(longest, column.length - this.#rows);
    longest += this.#mostLeft;
    this.#accepted.received.set(this.#symbol, longest);
    const isWhole = this.#failed === undefined && this.#buffers.areWhole(this.#columns, this.#rows, rows);
    if (!isWhole) this.#checkColumns(rows, longest);
    if (this.#failed) return this.#buffers.truncate(this.#rows);
    for (const column of all) {
      if (column.length < timestamp.length) (column as GrowingDoubles).pushNulls(rows);
    }
    const defective = this.#bad.size > 0 ? [...this.#bad] : [];
    const isInOrder = timestamp.ascendsWithin(this.#rows, this.#first, this.#last);
    if (!isInOrder) this.#checkTimestamps(rows);
    if (defective.length > 0) this.#noteTimes(defective);
    if (this.#bad.size > 0) this.#buffers.remove(this.#rows, rows, this.#bad);
    if (!isInOrder) this.#sort();
    this.#accepted.accept(this.#symbol, timestamp.length);
    // Symbols after one with a defect often have the defect, too. The kernel would read each of them in vain.
    if (isWhole) this.#alike?.learn(this.#order, isInOrder && this.#bad.size === 0 ? rows : 0);
  }

  finish(): DecodedBars {
    const { symbols, ends, received } = this.#accepted;
    const columns = this.#buffers.columns(symbols, ends);
    return { columns, received, setAsideAt: this.#setAsideAt };
  }

  /** Stores the times of the bars with a defect, if all of them are known. */
  #noteTimes(defective: readonly number[]): void {
    const times = defective.map((row) => this.#buffers.timestamp.at(this.#rows + row));
    const isKnown = !this.#hasBadTime && times.every((ms) => ms >= this.#first && ms <= this.#last);
    if (isKnown) this.#setAsideAt.set(this.#symbol, times);
  }

  /** Whether the column accepts no more entries. If so, the entry is counted as not accepted. */
  #isFull(offset: number): boolean {
    if (this.capacity > 0) return false;
    if (this.#left === 0) {
      const where = { symbol: this.#symbol, column: this.#column, index: this.#maxBars };
      const message = `${this.#symbol}: ${this.#column} has more than ${this.#maxBars} entries`;
      this.#issues.add({ rule: "too_many_bars", ...where, message, byteOffset: offset, rejected: 0 });
      this.#failed ??= "too_many_bars";
    }
    this.#left += 1;
    this.#mostLeft = Math.max(this.#mostLeft, this.#left);
    return true;
  }

  get #column(): string {
    return WIRE_COLUMNS[this.#index] ?? "";
  }

  /** Records a defect of one bar, which still has a row in each column. It remains if an optional number is out of range. */
  #defect(rule: IssueRule, text: string, byteOffset: number): void {
    const index = this.#target.length - this.#rows;
    const remains = rule === "out_of_range" && OPTIONAL_COLUMNS.has(this.#column);
    if (!(this.#target instanceof GrowingDoubles)) this.#target.pushSmall(0);
    else if (remains) this.#target.pushNulls(1);
    else this.#target.push(Number.NaN);
    const rejected = remains || this.#bad.has(index) ? 0 : 1;
    if (!remains) this.#bad.add(index);
    this.#hasBadTime ||= this.#index === TIMESTAMP;
    const message = `${this.#symbol}: ${this.#column}[${index}] ${text}`;
    const where = { symbol: this.#symbol, column: this.#column, index, byteOffset };
    this.#issues.add({ rule, ...where, message, rejected });
  }

  #checkColumns(rows: number, longest: number): void {
    for (const [index, name] of WIRE_COLUMNS.entries()) {
      const bit = 1 << index;
      if (!(this.#columns & bit)) {
        if (OPTIONAL_COLUMNS.has(name) || this.#keys & bit) continue;
        this.#fail("missing_column", "is missing", name, this.#offset);
        continue;
      }
      const length = (this.#buffers.all[index]?.length ?? 0) - this.#rows;
      if (length === rows) continue;
      const text = `has ${length} entries where timestamp has ${rows}`;
      this.#fail("unequal_lengths", text, name, this.#keyOffsets[index] as number);
    }
    if (this.#failed === undefined || longest === 0) return;
    this.#issues.add({
      rule: this.#failed,
      symbol: this.#symbol,
      message: `${this.#symbol}: ${longest} bars set aside`,
      byteOffset: this.#offset,
      rejected: longest,
    });
  }

  #checkTimestamps(rows: number): void {
    const { timestamp } = this.#buffers;
    for (let k = 0; k < rows; k++) {
      const ms = timestamp.at(this.#rows + k);
      if ((ms >= this.#first && ms <= this.#last) || this.#bad.has(k)) continue;
      this.#bad.add(k);
      const issue = timeIssue(
        this.#symbol,
        { ms, index: k, byteOffset: this.#keyOffsets[TIMESTAMP] as number },
        { first: this.#first, last: this.#last },
      );
      this.#hasBadTime ||= issue.rule === "out_of_range";
      this.#issues.add(issue);
    }
  }

  /** Of bars with equal timestamps, the last delivered one remains. */
  #sort(): void {
    const repeats = sortBars(this.#buffers, this.#rows);
    if (repeats !== undefined) this.#issues.add(sortedIssue(this.#symbol, repeats, this.#offset));
  }
}

/**
 * Sorts the bars from a row on by timestamp. Of equal timestamps the last delivered one remains. @returns the number of
 * removed repeats; undefined where the bars were in order.
 */
function sortBars(buffers: KlineBuffers, start: number): number | undefined {
  const { timestamp, all } = buffers;
  const end = timestamp.length;
  let sorted = true;
  for (let i = start + 1; i < end && sorted; i++) sorted = timestamp.at(i - 1) < timestamp.at(i);
  if (sorted) return undefined;
  const order = Uint32Array.from({ length: end - start }, (_, k) => start + k).sort(
    (a, b) => timestamp.at(a) - timestamp.at(b) || a - b,
  );
  const used = order.filter(
    (row, k) => k + 1 === order.length || timestamp.at(row) !== timestamp.at(order[k + 1] as number),
  );
  for (const column of all) column.permute(start, used);
  buffers.truncate(start + used.length);
  return order.length - used.length;
}

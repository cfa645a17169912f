import { ServiceError, WireError } from "../../core/errors.js";
import type { Issue, IssueLog } from "../../core/issue.js";
import { isSymbol } from "../../market/symbol.js";
import type { JsonLimits, JsonSink, MemberRuns, NumberRuns } from "./json/json-sink.js";
import type { NumberToken } from "./json/number-token.js";
import type { KlineBuffers } from "./kline-buffers.js";
import { type DecodedDocument, SymbolBars } from "./symbol-bars.js";

/** Number of next symbols that are compared before a set is made. */
const AHEAD = 4;

/**
 * Symbols that are looked up one after the other, mostly in their order, because services respond in the order of the
 * request, and leave out few. So the next ones are compared before a set is made.
 */
export class SymbolsInOrder {
  readonly #symbols: readonly string[];
  #next = 0;
  #all: ReadonlySet<string> | undefined;

  constructor(symbols: readonly string[]) {
    this.#symbols = symbols;
  }

  has(symbol: string): boolean {
    const most = Math.min(this.#next + AHEAD, this.#symbols.length);
    for (let at = this.#next; at < most; at++) {
      if (this.#symbols[at] !== symbol) continue;
      this.#next = at + 1;
      return true;
    }
    this.#all ??= new Set(this.#symbols);
    return this.#all.has(symbol);
  }
}

/** Most bars of one symbol, and most symbols in one response, if an expectation does not state other limits. */
const MAX_BARS = 1_000_000;
const MAX_SYMBOLS = 20_000;

/** What was requested, so that a response about something else is detected; and how large the response may be. */
export interface KlineExpectation {
  /** `map`: `data` is symbol -> Compact K-line data. `single`: `data` is Compact K-line data of `symbols[0]`. */
  readonly shape: "map" | "single";
  /** The requested symbols. Other symbols are rejected. Undefined: any symbol is accepted. */
  readonly symbols?: readonly string[] | undefined;
  /** First and last requested timestamp in epoch milliseconds, both inclusive. Bars outside are rejected. */
  readonly window?: { readonly first: number; readonly last: number } | undefined;
  /** Most bars of one symbol; a symbol with more is rejected. @default {@link MAX_BARS} */
  readonly maxBarsPerSymbol?: number;
  /** Most symbols of one response. @default {@link MAX_SYMBOLS} */
  readonly maxSymbols?: number;
  readonly limits?: JsonLimits;
}

type Place = "before" | "root" | "data" | "kline" | "column" | "skip";

/** Most members of the response's root object. */
const MAX_ROOT_KEYS = 100;

export class KlineSink implements JsonSink {
  readonly #expected: SymbolsInOrder | undefined;
  readonly #shape: KlineExpectation["shape"];
  readonly #only: string;
  readonly #maxSymbols: number;
  readonly #issues: IssueLog;
  readonly #bars: SymbolBars;
  #place: Place = "before";
  /** Number of open containers that are being skipped. */
  #skipDepth = 0;
  #resume: Place = "before";
  #key = "";
  #keyOffset = 0;
  #hasData = false;
  /** Keys that were read one by one. */
  readonly #seen: Record<"root" | "data", Set<string>> = { root: new Set(), data: new Set() };
  /** Number of symbols that were read together with others. */
  #together = 0;
  #error: { code?: string; message?: string } = {};

  constructor(expectation: KlineExpectation, issues: IssueLog, buffers: KlineBuffers) {
    this.#shape = expectation.shape;
    this.#only = expectation.symbols?.[0] ?? "";
    this.#expected = expectation.symbols && new SymbolsInOrder(expectation.symbols);
    this.#maxSymbols = expectation.maxSymbols ?? MAX_SYMBOLS;
    this.#issues = issues;
    this.#bars = new SymbolBars(
      buffers,
      issues,
      expectation.maxBarsPerSymbol ?? MAX_BARS,
      expectation.window,
      (symbol) => this.#takes(symbol),
    );
  }

  get members(): MemberRuns | undefined {
    return this.#place === "data" ? this.#bars.members : undefined;
  }

  startObject(offset: number): void {
    if (this.#place === "before") {
      this.#place = "root";
    } else if (this.#place === "root" && this.#key === "data") {
      this.#hasData = true;
      this.#place = this.#shape === "map" ? "data" : "kline";
      if (this.#shape === "single") this.#bars.begin(this.#only, offset);
    } else if (this.#place === "data") {
      this.#beginSymbol(offset);
    } else {
      this.#unexpected("an object", offset);
      this.#enterSkip();
    }
  }

  endObject(): void {
    if (this.#place === "skip") return this.#leaveSkip();
    if (this.#place === "kline") {
      this.#bars.end();
      this.#place = this.#shape === "map" ? "data" : "root";
    } else if (this.#place === "data") this.#place = "root";
    else this.#place = "before";
  }

  startArray(offset: number): NumberRuns | undefined {
    if (this.#place === "kline" && this.#bars.isColumn) {
      this.#bars.beginColumn();
      this.#place = "column";
      return this.#bars;
    }
    this.#unexpected("an array", offset);
    this.#enterSkip();
    return undefined;
  }

  endArray(): void {
    if (this.#place === "column") this.#place = "kline";
    else this.#leaveSkip();
  }

  key(text: string, offset: number): void {
    this.#key = text;
    this.#keyOffset = offset;
    if (this.#place === "root" || this.#place === "data") {
      const isRoot = this.#place === "root";
      const seen = isRoot ? this.#seen.root : this.#seen.data;
      const before = seen.size;
      // Only one look-up for each key: they take time where a response has many symbols.
      const isNew = seen.add(text).size > before && (isRoot || !this.#bars.hasReceived(text));
      if (!isNew) throw new WireError("malformed", `response repeats the key "${text}"`, offset);
      const most = isRoot ? MAX_ROOT_KEYS : this.#maxSymbols;
      if (before + (isRoot ? 0 : this.#together) >= most)
        throw new WireError("limit", `response has more than ${most} keys`, offset);
    } else if (this.#place === "kline") this.#bars.key(text, offset);
  }

  number(token: NumberToken, offset: number): void {
    if (this.#place === "column") this.#bars.number(token, offset);
    else this.#unexpected("a number", offset);
  }

  string(read: () => string, offset: number): void {
    if (this.#place === "column") this.#bars.wrongType("a string", offset);
    else if (this.#place === "root" && this.#key === "code") this.#error.code = read();
    else if (this.#place === "root" && this.#key === "message") this.#error.message = read();
    else this.#unexpected("a string", offset);
  }

  literal(value: boolean | null, offset: number): void {
    if (this.#place === "column") {
      if (value === null) this.#bars.null(offset);
      else this.#bars.wrongType("a boolean", offset);
    } else this.#unexpected(value === null ? "null" : "a boolean", offset);
  }

  /** @param bytes size of the body. @throws {WireError} where the document has no `data`. */
  finish(bytes: number): DecodedDocument {
    if (!this.#hasData) {
      const { code, message } = this.#error;
      if (code !== undefined) {
        throw new ServiceError(`service answered ${code}: ${message ?? "no message"}`, { status: 200, code });
      }
      throw new WireError("wrong_shape", 'response has no "data" object', bytes);
    }
    const named = this.#shape === "map" ? this.#seen.data : new Set([this.#only]);
    return { ...this.#bars.finish(), named };
  }

  /**
   * Whether a symbol that is read together with others was requested, is not repeated, and does not exceed the limit.
   */
  #takes(symbol: string): boolean {
    if (strangeSymbol(symbol, this.#expected, 0) !== undefined || this.#bars.hasReceived(symbol))
      return false;
    if (this.#seen.data.size + this.#together >= this.#maxSymbols || this.#seen.data.has(symbol))
      return false;
    this.#together += 1;
    return true;
  }

  #beginSymbol(offset: number): void {
    const symbol = this.#key;
    const strange = strangeSymbol(symbol, this.#expected, this.#keyOffset);
    if (strange !== undefined) {
      this.#issues.add(strange);
      return this.#enterSkip();
    }
    this.#place = "kline";
    this.#bars.begin(symbol, offset);
  }

  #unexpected(kind: string, offset: number): void {
    if (this.#place === "before")
      throw new WireError("wrong_shape", `response is ${kind}, not an object`, offset);
    if (this.#place === "root" && this.#key === "data") {
      throw new WireError("wrong_shape", `"data" is ${kind}, not an object`, offset);
    }
    if (this.#place === "data") {
      this.#issues.add({
        rule: "wrong_type",
        symbol: this.#key.slice(0, 64),
        message: `value of "${this.#key.slice(0, 64)}" is ${kind}, not Compact K-line data`,
        byteOffset: offset,
        rejected: 0,
      });
    } else if (this.#place === "kline" && this.#bars.isColumn) {
      this.#bars.notAnArray(kind, offset);
    } else if (this.#place === "column") this.#bars.wrongType(kind, offset);
  }

  #enterSkip(): void {
    if (this.#place === "skip") this.#skipDepth += 1;
    else {
      this.#resume = this.#place;
      this.#place = "skip";
      this.#skipDepth = 1;
    }
  }

  #leaveSkip(): void {
    this.#skipDepth -= 1;
    if (this.#skipDepth === 0) this.#place = this.#resume;
  }
}

/**
 * Why the bars of a symbol in a response are not accepted; undefined where they are. @param requested undefined: any
 * symbol is accepted.
 */
function strangeSymbol(
  symbol: string,
  requested: Pick<ReadonlySet<string>, "has"> | undefined,
  byteOffset: number,
): Issue | undefined {
  const isWellFormed = isSymbol(symbol);
  if (isWellFormed && (requested === undefined || requested.has(symbol))) return undefined;
  const where = { symbol: symbol.slice(0, 64), byteOffset, rejected: 0 };
  if (!isWellFormed)
    return { ...where, rule: "bad_symbol", message: `key "${where.symbol}" is not a symbol` };
  return { ...where, rule: "not_requested", message: `${symbol} was not requested` };
}

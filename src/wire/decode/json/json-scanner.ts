import { WireError } from "../../../core/errors.js";
import { numberKernel } from "../../kernel/number-kernel.js";
import {
  DEFAULT_JSON_LIMITS,
  type JsonLimits,
  type JsonSink,
  type MemberRuns,
  type NumberRuns,
} from "./json-sink.js";
import { NumberToken } from "./number-token.js";
import { notJson, StringToken } from "./string-token.js";

/** A key as it is written in a document, and the key that followed it the last time. */
interface KnownKey {
  readonly text: string;
  /** The bytes of the key, with both quotes. */
  readonly bytes: Uint8Array;
  next: KnownKey | undefined;
}

/** Most keys that are cached. Members have few different names; symbols as names are many, and each occurs once. */
const MOST_KEYS = 32;
/** Longest key that is remembered, in bytes with its quotes. */
const MOST_BYTES = 64;

/**
 * Recognises the keys of one level of a document by their bytes. The objects of a level mostly have the same keys in
 * the same order, so the key that followed the last time is compared first; if it matches, it is neither scanned nor
 * decoded.
 */
export class KeySequence {
  readonly #known = new Map<string, KnownKey>();
  #last: KnownKey | undefined;

  /** The text of the key at `start`, if it is complete before `end` and the expected one. */
  match(bytes: Uint8Array, start: number, end: number): string | undefined {
    const expected = this.#last?.next;
    if (expected === undefined) return undefined;
    const own = expected.bytes;
    if (start + own.length > end) return undefined;
    for (let k = 0; k < own.length; k++) if (own[k] !== bytes[start + k]) return undefined;
    this.#last = expected;
    return expected.text;
  }

  /** Length in bytes, with quotes, of the key that {@link match} has just found. */
  get length(): number {
    return this.#last?.bytes.length ?? 0;
  }

  /** Stores a key that was read. It is expected again after the key that preceded it. */
  add(text: string, bytes: Uint8Array, start: number, end: number): void {
    let key = this.#known.get(text);
    if (key === undefined && this.#known.size < MOST_KEYS && end - start <= MOST_BYTES) {
      key = { text, bytes: bytes.slice(start, end), next: undefined };
      this.#known.set(text, key);
    }
    if (this.#last !== undefined) this.#last.next = key;
    this.#last = key;
  }
}

/** What may come next. These are small integers, because they are compared for each token. */
const VALUE = 0;
const VALUE_OR_END = 1;
const KEY = 2;
const KEY_OR_END = 3;
const COLON = 4;
const COMMA_OR_END = 5;
const NOTHING = 6;

/** The bytes to scan: the incomplete token at the end of the last piece, followed by a part of the next piece. */
const bytes = numberKernel.input;
/** Most bytes of a number. A double that is written out in full has fewer digits. */
const MAX_NUMBER_BYTES = 4096;
/** Keys of members that are read together are shorter than this, in bytes. */
const LONG_KEY_BYTES = 64;
/** Upper limit of `maxTokenBytes`: the buffer must have space for more bytes after a token. */
const MAX_TOKEN_BYTES = bytes.length / 2;
/**
 * A strict JSON reader (RFC 8259) for a document that arrives in pieces of any length. It checks the grammar and
 * reports values to a sink; it stores only an incomplete token at the end of a piece. `push` and `end` throw a {@link
 * WireError} when the document is not JSON, is cut short, or exceeds a limit.
 */
export class JsonScanner {
  readonly #sink: JsonSink;
  readonly #limits: JsonLimits;
  readonly #number = new NumberToken();
  /** One entry for each open container: true for an object. */
  readonly #stack: boolean[] = [];
  readonly #keys: KeySequence[] = [];
  /** The receiver of numbers of the innermost container, if it is an array that has one. */
  #runs: NumberRuns | undefined;
  #expect = VALUE;
  readonly #string = new StringToken(bytes);
  readonly #readText = (): string => this.#string.text();
  #carry = new Uint8Array(64);
  #carried = 0;
  /** Offset in the document of the first byte in the buffer. */
  #base = 0;
  #end = 0;

  constructor(sink: JsonSink, limits: JsonLimits = DEFAULT_JSON_LIMITS) {
    const { maxTokenBytes } = limits;
    if (!(maxTokenBytes >= 1 && maxTokenBytes <= MAX_TOKEN_BYTES)) {
      throw new RangeError(`maxTokenBytes ${maxTokenBytes} is not 1 to ${MAX_TOKEN_BYTES}`);
    }
    this.#sink = sink;
    this.#limits = limits;
  }

  get bytes(): number {
    return this.#base + this.#carried;
  }

  push(chunk: Uint8Array): void {
    const { maxBytes } = this.#limits;
    if (this.bytes + chunk.length > maxBytes)
      throw new WireError("limit", `response is longer than ${maxBytes} bytes`, maxBytes);
    for (let at = 0; at < chunk.length; ) {
      this.#restore();
      const length = Math.min(chunk.length - at, bytes.length - this.#end);
      bytes.set(length === chunk.length ? chunk : chunk.subarray(at, at + length), this.#end);
      this.#end += length;
      at += length;
      this.#store(this.#scan(false));
    }
  }

  end(): void {
    this.#restore();
    this.#store(this.#scan(true));
    if (this.#carried > 0 || this.#expect !== NOTHING)
      throw new WireError("truncated", "response ends before its JSON does", this.bytes);
  }

  /** Puts the incomplete token back at the start of the buffer, which other scanners may have used since. */
  #restore(): void {
    copy(this.#carry, 0, bytes, this.#carried);
    this.#end = this.#carried;
  }

  #store(from: number): void {
    this.#checkLength(from, this.#end);
    this.#base += from;
    this.#carried = this.#end - from;
    if (this.#carried > this.#carry.length) this.#carry = new Uint8Array(this.#carried * 2);
    copy(bytes, from, this.#carry, this.#carried);
  }

  #checkLength(start: number, end: number): void {
    const isString = bytes[start] === 0x22;
    const most = isString ? this.#limits.maxTokenBytes : MAX_NUMBER_BYTES;
    if (end - start <= most) return;
    const message = `${isString ? "string" : "number"} is longer than ${most} bytes`;
    throw new WireError("limit", message, this.#base + start);
  }

  /** Reads all complete tokens. Returns the index of the first byte that was not used. */
  #scan(final: boolean): number {
    let i = 0;
    while (i < this.#end) {
      const byte = bytes[i] as number;
      if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) {
        i += 1;
        continue;
      }
      const next = this.#token(i, byte, final);
      if (next < 0) return i;
      i = next;
    }
    return i;
  }

  /** Reads the token at index `i`. Returns the index after it, or -1 where the bytes end within it. */
  #token(i: number, byte: number, final: boolean): number {
    switch (this.#expect) {
      case COMMA_OR_END:
        if (byte !== 0x2c) return this.#close(i, byte);
        this.#expect = this.#stack.at(-1) ? KEY : VALUE;
        return i + 1;
      case COLON:
        if (byte !== 0x3a) this.#fail(i, byte, '":"');
        this.#expect = VALUE;
        return i + 1;
      case KEY_OR_END:
        if (byte === 0x7d) return this.#close(i, byte);
        return this.#key(i, byte);
      case KEY:
        return this.#key(i, byte);
      case VALUE_OR_END:
        if (byte === 0x5d) return this.#close(i, byte);
        return this.#value(i, byte, final);
      case VALUE:
        return this.#value(i, byte, final);
      default:
        return this.#fail(i, byte, "the end");
    }
  }

  #value(i: number, byte: number, final: boolean): number {
    const offset = this.#base + i;
    if (byte === 0x2d || (byte >= 0x30 && byte <= 0x39)) return this.#numberAt(i, byte, final);
    if (byte === 0x22) {
      if (!this.#string.scan(i, this.#end, offset)) return -1;
      this.#checkLength(i, this.#string.end);
      this.#string.checkText();
      this.#sink.string(this.#readText, offset);
      this.#afterValue();
      return this.#string.end;
    }
    if (byte === 0x7b || byte === 0x5b) {
      if (this.#stack.length >= this.#limits.maxDepth) {
        throw new WireError("limit", `response nests deeper than ${this.#limits.maxDepth} levels`, offset);
      }
      const isObject = byte === 0x7b;
      this.#stack.push(isObject);
      this.#expect = isObject ? KEY_OR_END : VALUE_OR_END;
      this.#runs = isObject ? undefined : this.#sink.startArray(offset);
      if (isObject) this.#sink.startObject(offset);
      return i + 1;
    }
    return this.#literal(i, byte);
  }

  #numberAt(i: number, byte: number, final: boolean): number {
    if (this.#runs !== undefined) {
      const next = this.#numbersAt(i, this.#runs);
      if (next > i) return next;
    }
    const result = this.#number.scan(bytes, i, this.#end, final);
    if (result === "incomplete") return -1;
    if (result === "invalid") return this.#fail(i, byte, "a number");
    this.#checkLength(i, this.#number.end);
    this.#sink.number(this.#number, this.#base + i);
    this.#afterValue();
    return this.#number.end;
  }

  /** Passes on all numbers that the kernel reads. Returns the index after them. */
  #numbersAt(i: number, runs: NumberRuns): number {
    const { type, capacity } = runs;
    const values =
      type === "double"
        ? numberKernel.scanDoubles(i, this.#end, capacity)
        : numberKernel.scanIntegers(i, this.#end, capacity);
    if (values.length === 0) return i;
    this.#expect = numberKernel.closed ? COMMA_OR_END : VALUE;
    const next = numberKernel.stoppedAt;
    runs.push(values);
    return next;
  }

  #literal(i: number, byte: number): number {
    if (byte === 0x74) return this.#word(i, "true", true);
    if (byte === 0x66) return this.#word(i, "false", false);
    if (byte === 0x6e) return this.#word(i, "null", null);
    return this.#fail(i, byte, "a value");
  }

  #word(i: number, text: string, value: boolean | null): number {
    for (let k = 1; k < text.length; k++) {
      if (i + k >= this.#end) return -1;
      if (bytes[i + k] !== text.charCodeAt(k)) return this.#fail(i + k, bytes[i + k] as number, text);
    }
    this.#sink.literal(value, this.#base + i);
    this.#afterValue();
    return i + text.length;
  }

  #key(i: number, byte: number): number {
    if (byte !== 0x22) return this.#fail(i, byte, "a key");
    const { members } = this.#sink;
    if (members !== undefined) {
      const next = this.#membersAt(i, members);
      if (next > i) return next;
    }
    const offset = this.#base + i;
    const keys = (this.#keys[this.#stack.length] ??= new KeySequence());
    const known = this.#string.isBegun ? undefined : keys.match(bytes, i, this.#end);
    if (known !== undefined) {
      this.#sink.key(known, offset);
      this.#expect = COLON;
      return i + keys.length;
    }
    if (!this.#string.scan(i, this.#end, offset)) return -1;
    const { end } = this.#string;
    this.#checkLength(i, end);
    const text = this.#string.text();
    keys.add(text, bytes, i, end);
    this.#sink.key(text, offset);
    this.#expect = COLON;
    return end;
  }

  /** Passes on all members of the expected form, from the key at index `i`. Returns the index after them. */
  #membersAt(i: number, members: MemberRuns): number {
    // The limits for long tokens apply to keys that are read one by one.
    if (this.#string.isBegun || this.#limits.maxTokenBytes < LONG_KEY_BYTES) return i;
    const count = numberKernel.scanMembers(i, this.#end, members.pattern);
    if (count === 0) return i;
    const text = this.#string.latin1(i, numberKernel.memberNameEnd(count - 1));
    const nameOf = (index: number): string =>
      text.slice(numberKernel.memberStart(index) + 1 - i, numberKernel.memberNameEnd(index) - 1 - i);
    const taken = members.push(count, nameOf);
    if (taken === 0) return i;
    this.#expect = COMMA_OR_END;
    return numberKernel.memberEnd(taken - 1);
  }

  #close(i: number, byte: number): number {
    const isObject = this.#stack.at(-1);
    if (isObject === undefined || byte !== (isObject ? 0x7d : 0x5d)) {
      return this.#fail(i, byte, isObject ? '"," or "}"' : '"," or "]"');
    }
    this.#stack.pop();
    this.#runs = undefined;
    if (isObject) this.#sink.endObject();
    else this.#sink.endArray();
    this.#afterValue();
    return i + 1;
  }

  #afterValue(): void {
    this.#expect = this.#stack.length === 0 ? NOTHING : COMMA_OR_END;
  }

  #fail(i: number, byte: number, expected: string): never {
    throw notJson(byte, expected, this.#base + i);
  }
}

function copy(from: Uint8Array, start: number, to: Uint8Array, length: number): void {
  if (length > 64) to.set(from.subarray(start, start + length));
  else for (let i = 0; i < length; i++) to[i] = from[start + i] as number;
}

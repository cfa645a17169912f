import { WireError } from "../../core/errors.js";
import { numberKernel } from "../kernel/number-kernel.js";
import { DEFAULT_JSON_LIMITS, type JsonLimits, type JsonSink, type NumberRuns } from "./json-sink.js";
import { NumberToken } from "./number-token.js";

/** What may come next. Small integers, since it is compared once a token. */
const VALUE = 0;
const VALUE_OR_END = 1;
const KEY = 2;
const KEY_OR_END = 3;
const COLON = 4;
const COMMA_OR_END = 5;
const NOTHING = 6;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/** What is scanned: the end of the last piece, where a token was cut, then a part of the next one. */
const bytes = numberKernel.input;
const latin1 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
/** Bounds of `maxTokenBytes`: the kernel reads numbers of up to 64 bytes; a token must leave room for more bytes. */
const MIN_TOKEN_BYTES = 64;
const MAX_TOKEN_BYTES = bytes.length / 2;
/**
 * A strict JSON reader (RFC 8259) for a document that arrives in pieces, cut anywhere. It checks the grammar and tells
 * a sink what it meets; it keeps nothing but the token that a piece was cut in.
 *
 * @throws {WireError} from `push` and `end` when the document is not JSON, is cut short, or passes a limit.
 */
export class JsonScanner {
  readonly #sink: JsonSink;
  readonly #limits: JsonLimits;
  readonly #number = new NumberToken();
  /** One entry an open container: true for an object. */
  readonly #stack: boolean[] = [];
  /** Of the innermost container, where it is an array that has one. */
  #runs: NumberRuns | undefined;
  #expect = VALUE;
  /** Where the string stands that a sink may read. */
  #textStart = 0;
  #textEnd = 0;
  readonly #readText = (): string => this.#text(this.#textStart, this.#textEnd);
  /** Of the string that was checked last: ASCII without escapes. Any other must be valid UTF-8, even if nobody reads it. */
  #isPlain = true;
  /** The token that the last piece was cut in. */
  #carry = new Uint8Array(64);
  #carried = 0;
  /** Offset in the document of the first byte that is scanned. */
  #base = 0;
  /** How many bytes there are to scan. */
  #end = 0;

  constructor(sink: JsonSink, limits: JsonLimits = DEFAULT_JSON_LIMITS) {
    const { maxTokenBytes } = limits;
    if (!(maxTokenBytes >= MIN_TOKEN_BYTES && maxTokenBytes <= MAX_TOKEN_BYTES)) {
      throw new RangeError(`maxTokenBytes ${maxTokenBytes} is not ${MIN_TOKEN_BYTES} to ${MAX_TOKEN_BYTES}`);
    }
    this.#sink = sink;
    this.#limits = limits;
  }

  /** Bytes taken so far. */
  get bytes(): number {
    return this.#base + this.#carried;
  }

  /** Takes the next piece of the document. */
  push(chunk: Uint8Array): void {
    const { maxBytes } = this.#limits;
    if (this.bytes + chunk.length > maxBytes)
      throw new WireError("limit", `answer is longer than ${maxBytes} bytes`, maxBytes);
    for (let at = 0; at < chunk.length; ) {
      this.#restore();
      const length = Math.min(chunk.length - at, bytes.length - this.#end);
      bytes.set(length === chunk.length ? chunk : chunk.subarray(at, at + length), this.#end);
      this.#end += length;
      at += length;
      this.#keep(this.#scan(false));
    }
  }

  /** Says that the document is over. */
  end(): void {
    this.#restore();
    this.#keep(this.#scan(true));
    if (this.#carried > 0 || this.#expect !== NOTHING)
      throw new WireError("truncated", "answer ends before its JSON does", this.bytes);
  }

  /** Puts what was kept back in front: other scanners may have used the bytes in between. */
  #restore(): void {
    for (let i = 0; i < this.#carried; i++) bytes[i] = this.#carry[i] as number;
    this.#end = this.#carried;
  }

  /** Keeps what stands from `from` on until there is more. */
  #keep(from: number): void {
    this.#checkLength(from, this.#end);
    this.#base += from;
    this.#carried = this.#end - from;
    if (this.#carried > this.#carry.length) this.#carry = new Uint8Array(this.#carried * 2);
    for (let i = 0; i < this.#carried; i++) this.#carry[i] = bytes[from + i] as number;
  }

  #checkLength(start: number, end: number): void {
    const { maxTokenBytes } = this.#limits;
    if (end - start <= maxTokenBytes) return;
    const message = `string or number is longer than ${maxTokenBytes} bytes`;
    throw new WireError("limit", message, this.#base + start);
  }

  /** Reads as many whole tokens as there are; returns the index of the first byte that was not used. */
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

  /** Reads the token at `i`; returns the index after it, or -1 when the bytes end inside it. */
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
      const end = this.#stringEnd(i);
      if (end < 0) return -1;
      this.#checkLength(i, end);
      if (!this.#isPlain) this.#text(i, end);
      this.#textStart = i;
      this.#textEnd = end;
      this.#sink.string(this.#readText, offset);
      this.#afterValue();
      return end;
    }
    if (byte === 0x7b || byte === 0x5b) {
      if (this.#stack.length >= this.#limits.maxDepth) {
        throw new WireError("limit", `answer nests deeper than ${this.#limits.maxDepth} levels`, offset);
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

  /** Hands on as many numbers as the kernel reads; returns the index after them. */
  #numbersAt(i: number, runs: NumberRuns): number {
    const { type, room } = runs;
    const values =
      type === "double"
        ? numberKernel.scanDoubles(i, this.#end, room)
        : numberKernel.scanIntegers(i, this.#end, room);
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
    const end = this.#stringEnd(i);
    if (end < 0) return -1;
    this.#checkLength(i, end);
    this.#sink.key(this.#text(i, end), this.#base + i);
    this.#expect = COLON;
    return end;
  }

  /** Checks a string that begins at `start`; returns the index after its closing quote, or -1 when it is cut. */
  #stringEnd(start: number): number {
    let i = start + 1;
    this.#isPlain = true;
    while (i < this.#end) {
      const byte = bytes[i] as number;
      if (byte === 0x22) return i + 1;
      if (byte < 0x20) return this.#fail(i, byte, "a string without control characters");
      if (byte !== 0x5c) {
        if (byte >= 0x80) this.#isPlain = false;
        i += 1;
        continue;
      }
      this.#isPlain = false;
      if (i + 1 >= this.#end) return -1;
      const escape = bytes[i + 1] as number;
      if (escape !== 0x75) {
        if (!'"\\/bfnrt'.includes(String.fromCharCode(escape))) return this.#fail(i + 1, escape, "an escape");
        i += 2;
        continue;
      }
      for (let k = i + 2; k < i + 6; k++) {
        if (k >= this.#end) return -1;
        const hex = bytes[k] as number;
        if (!/[0-9a-fA-F]/.test(String.fromCharCode(hex)))
          return this.#fail(k, hex, "four hexadecimal digits");
      }
      i += 6;
    }
    return -1;
  }

  #text(start: number, end: number): string {
    if (this.#isPlain) return latin1.toString("latin1", start + 1, end - 1);
    try {
      const raw = utf8.decode(bytes.subarray(start + 1, end - 1));
      return raw.includes("\\") ? (JSON.parse(`"${raw}"`) as string) : raw;
    } catch (cause) {
      throw new WireError("not_json", "string is not valid UTF-8", this.#base + start, { cause });
    }
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

  #fail(i: number, byte: number, wanted: string): never {
    const found =
      byte >= 0x20 && byte < 0x7f ? `"${String.fromCharCode(byte)}"` : `byte 0x${byte.toString(16)}`;
    throw new WireError("not_json", `answer is not JSON: ${found} where ${wanted} belongs`, this.#base + i);
  }
}

import { WireError } from "../../core/errors.js";
import { DecimalRun } from "./decimal-run.js";
import { NumberToken } from "./number-token.js";

/** What a {@link JsonScanner} tells as it reads. Offsets count bytes of the whole document, from 0. */
export interface JsonSink {
  startObject(offset: number): void;
  endObject(): void;
  startArray(offset: number): void;
  endArray(): void;
  key(text: string, offset: number): void;
  /** Elements of an array, as if each had been given to `number`. The run is valid only during the call. */
  decimals(run: DecimalRun): void;
  /** The token is valid only during the call. */
  number(token: NumberToken, offset: number): void;
  /** `read` gives the text; a sink that does not need it does not pay for it. */
  string(read: () => string, offset: number): void;
  literal(value: boolean | null, offset: number): void;
}

/** Bounds that keep a hostile document small. */
export interface JsonLimits {
  /** Deepest nesting of objects and arrays. @default 64 */
  readonly maxDepth: number;
  /** Longest string or number, in bytes. @default 65536 */
  readonly maxTokenBytes: number;
  /** Longest document, in bytes. @default 2 GiB */
  readonly maxBytes: number;
}

export const DEFAULT_JSON_LIMITS: JsonLimits = { maxDepth: 64, maxTokenBytes: 65_536, maxBytes: 2 ** 31 };

/** What may come next. Small integers, since it is compared once a token. */
const VALUE = 0;
const VALUE_OR_END = 1;
const KEY = 2;
const KEY_OR_END = 3;
const COLON = 4;
const COMMA_OR_END = 5;
const NOTHING = 6;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const EMPTY = new Uint8Array(0);
const LITERALS: readonly (readonly [string, boolean | null])[] = [
  ["true", true],
  ["false", false],
  ["null", null],
];

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
  readonly #run = new DecimalRun();
  /** One entry an open container: true for an object. */
  readonly #stack: boolean[] = [];
  #expect = VALUE;
  #carry: Uint8Array = EMPTY;
  /** Offset in the document of the first byte of the buffer at hand. */
  #base = 0;

  constructor(sink: JsonSink, limits: JsonLimits = DEFAULT_JSON_LIMITS) {
    this.#sink = sink;
    this.#limits = limits;
  }

  /** Bytes taken so far. */
  get bytes(): number {
    return this.#base + this.#carry.length;
  }

  /** Takes the next piece of the document. */
  push(chunk: Uint8Array): void {
    const buffer = this.#carry.length === 0 ? chunk : concat(this.#carry, chunk);
    if (this.#base + buffer.length > this.#limits.maxBytes) {
      throw new WireError(
        "limit",
        `answer is longer than ${this.#limits.maxBytes} bytes`,
        this.#limits.maxBytes,
      );
    }
    this.#consume(buffer, this.#scan(buffer, false));
  }

  /** Says that the document is over. */
  end(): void {
    const buffer = this.#carry;
    this.#consume(buffer, this.#scan(buffer, true));
    if (this.#carry.length > 0 || this.#expect !== NOTHING) {
      throw new WireError("truncated", "answer ends before its JSON does", this.bytes);
    }
  }

  #consume(buffer: Uint8Array, taken: number): void {
    this.#base += taken;
    const rest = buffer.length - taken;
    this.#checkLength(0, rest);
    this.#carry = rest === 0 ? EMPTY : buffer.slice(taken);
  }

  #checkLength(start: number, end: number): void {
    const { maxTokenBytes } = this.#limits;
    if (end - start <= maxTokenBytes) return;
    throw new WireError(
      "limit",
      `string or number is longer than ${maxTokenBytes} bytes`,
      this.#base + start,
    );
  }

  /** Reads as many whole tokens as the buffer has; returns the index of the first byte that was not used. */
  #scan(buffer: Uint8Array, final: boolean): number {
    let i = 0;
    while (i < buffer.length) {
      const byte = buffer[i] as number;
      if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) {
        i += 1;
        continue;
      }
      const next = this.#token(buffer, i, byte, final);
      if (next < 0) return i;
      i = next;
    }
    return i;
  }

  /** Reads the token at `i`; returns the index after it, or -1 when the buffer ends inside it. */
  #token(buffer: Uint8Array, i: number, byte: number, final: boolean): number {
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
        return this.#key(buffer, i, byte);
      case KEY:
        return this.#key(buffer, i, byte);
      case VALUE_OR_END:
        if (byte === 0x5d) return this.#close(i, byte);
        return this.#value(buffer, i, byte, final);
      case VALUE:
        return this.#value(buffer, i, byte, final);
      default:
        return this.#fail(i, byte, "the end");
    }
  }

  #value(buffer: Uint8Array, i: number, byte: number, final: boolean): number {
    const offset = this.#base + i;
    if (byte === 0x2d || (byte >= 0x30 && byte <= 0x39)) return this.#numberAt(buffer, i, byte, final);
    if (byte === 0x22) {
      const end = this.#stringEnd(buffer, i);
      if (end < 0) return -1;
      this.#checkLength(i, end);
      this.#sink.string(() => this.#text(buffer, i, end), offset);
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
      if (isObject) this.#sink.startObject(offset);
      else this.#sink.startArray(offset);
      return i + 1;
    }
    return this.#literal(buffer, i, byte);
  }

  #numberAt(buffer: Uint8Array, i: number, byte: number, final: boolean): number {
    const inArray = this.#stack.at(-1) === false;
    const next = inArray ? this.#run.scan(buffer, i, this.#base) : i;
    if (next > i) {
      this.#sink.decimals(this.#run);
      this.#expect = VALUE;
      return next;
    }
    const result = this.#number.scan(buffer, i, final);
    if (result === "incomplete") return -1;
    if (result === "invalid") return this.#fail(i, byte, "a number");
    this.#checkLength(i, this.#number.end);
    this.#sink.number(this.#number, this.#base + i);
    this.#afterValue();
    return this.#number.end;
  }

  #literal(buffer: Uint8Array, i: number, byte: number): number {
    for (const [text, value] of LITERALS) {
      if (text.charCodeAt(0) !== byte) continue;
      for (let k = 1; k < text.length; k++) {
        if (i + k >= buffer.length) return -1;
        if (buffer[i + k] !== text.charCodeAt(k)) return this.#fail(i + k, buffer[i + k] as number, text);
      }
      this.#sink.literal(value, this.#base + i);
      this.#afterValue();
      return i + text.length;
    }
    return this.#fail(i, byte, "a value");
  }

  #key(buffer: Uint8Array, i: number, byte: number): number {
    if (byte !== 0x22) return this.#fail(i, byte, "a key");
    const end = this.#stringEnd(buffer, i);
    if (end < 0) return -1;
    this.#checkLength(i, end);
    this.#sink.key(this.#text(buffer, i, end), this.#base + i);
    this.#expect = COLON;
    return end;
  }

  /** Checks a string that begins at `start`; returns the index after its closing quote, or -1 when it is cut. */
  #stringEnd(buffer: Uint8Array, start: number): number {
    let i = start + 1;
    while (i < buffer.length) {
      const byte = buffer[i] as number;
      if (byte === 0x22) return i + 1;
      if (byte < 0x20) return this.#fail(i, byte, "a string without control characters");
      if (byte !== 0x5c) {
        i += 1;
        continue;
      }
      const escape = buffer[i + 1];
      if (escape === undefined) return -1;
      if (escape !== 0x75) {
        if (!'"\\/bfnrt'.includes(String.fromCharCode(escape))) return this.#fail(i + 1, escape, "an escape");
        i += 2;
        continue;
      }
      for (let k = i + 2; k < i + 6; k++) {
        const hex = buffer[k];
        if (hex === undefined) return -1;
        if (!/[0-9a-fA-F]/.test(String.fromCharCode(hex)))
          return this.#fail(k, hex, "four hexadecimal digits");
      }
      i += 6;
    }
    return -1;
  }

  #text(buffer: Uint8Array, start: number, end: number): string {
    const bytes = buffer.subarray(start + 1, end - 1);
    try {
      const raw = utf8.decode(bytes);
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

function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  const joined = new Uint8Array(a.length + b.length);
  joined.set(a);
  joined.set(b, a.length);
  return joined;
}

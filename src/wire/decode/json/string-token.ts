import { WireError } from "../../../core/errors.js";

export function notJson(byte: number, expected: string, offset: number): WireError {
  const found =
    byte >= 0x20 && byte < 0x7f ? `"${String.fromCharCode(byte)}"` : `byte 0x${byte.toString(16)}`;
  return new WireError("not_json", `response is not JSON: ${found} where ${expected} belongs`, offset);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LOWER_U = 0x75;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * One JSON string in a byte buffer: checked while it arrives, and decoded only if its text is read. The object is
 * reused for every token.
 */
export class StringToken {
  readonly #bytes: Uint8Array;
  readonly #latin1: Buffer;
  /** Number of checked bytes of an incomplete string: the next scan continues from there. */
  #checked = 0;
  /** Whether the string is ASCII without escapes. */
  #isPlain = true;
  #start = 0;
  /** Index of the first byte after the closing quote; valid after a scan that found it. */
  end = 0;
  /** Offset in the document of the opening quote. */
  #offset = 0;

  /** @param bytes the only buffer that will be scanned. */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#latin1 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** Whether the last scan ended within a string. The next scan must continue with the same string. */
  get isBegun(): boolean {
    return this.#checked > 0;
  }

  /**
   * Checks a string whose opening quote is at `start`, at `offset` of the document. @returns false where it is
   * incomplete: the next scan must be of the same string, with more bytes. @throws {WireError} for bytes that are not
   * allowed in a string.
   */
  scan(start: number, length: number, offset: number): boolean {
    const bytes = this.#bytes;
    if (this.#checked === 0) this.#isPlain = true;
    let i = start + Math.max(this.#checked, 1);
    this.#checked = 0;
    while (i < length) {
      const byte = bytes[i] as number;
      if (byte === QUOTE) {
        this.#start = start;
        this.#offset = offset;
        this.end = i + 1;
        return true;
      }
      if (byte === BACKSLASH) {
        this.#isPlain = false;
        const size = this.#escapeSize(i, length, offset - start);
        if (size === 0) break;
        i += size;
      } else {
        if (byte < 0x20) throw notJson(byte, "a string without control characters", offset + i - start);
        if (byte >= 0x80) this.#isPlain = false;
        i += 1;
      }
    }
    this.#checked = i - start;
    return false;
  }

  /** The string's text. @throws {WireError} where it is not UTF-8. */
  text(): string {
    if (this.#isPlain) return this.#latin1.toString("latin1", this.#start + 1, this.end - 1);
    try {
      const raw = utf8.decode(this.#bytes.subarray(this.#start + 1, this.end - 1));
      return raw.includes("\\") ? (JSON.parse(`"${raw}"`) as string) : raw;
    } catch (cause) {
      throw new WireError("not_json", "string is not valid UTF-8", this.#offset, { cause });
    }
  }

  /** Some bytes as a text, one character for each byte. The bytes must be ASCII. */
  latin1(start: number, end: number): string {
    return this.#latin1.toString("latin1", start, end);
  }

  /** Checks that the string is valid UTF-8, for strings that are not read; `text` checks those that are. */
  checkText(): void {
    if (!this.#isPlain) this.text();
  }

  /** Length in bytes of the escape at `i`, or 0 where it is incomplete. */
  #escapeSize(i: number, length: number, base: number): number {
    if (i + 1 >= length) return 0;
    const escape = this.#bytes[i + 1] as number;
    if (escape !== LOWER_U) {
      if (!'"\\/bfnrt'.includes(String.fromCharCode(escape)))
        throw notJson(escape, "an escape", base + i + 1);
      return 2;
    }
    for (let k = i + 2; k < i + 6; k++) {
      if (k >= length) return 0;
      const digit = this.#bytes[k] as number;
      if (!/[0-9a-fA-F]/.test(String.fromCharCode(digit)))
        throw notJson(digit, "four hexadecimal digits", base + k);
    }
    return 6;
  }
}

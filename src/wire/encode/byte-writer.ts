import { numberKernel } from "../kernel/number-kernel.js";

/**
 * The JSON text of a double: the shortest decimal that reads back to it, with a fraction or an exponent (`100.0`,
 * `1e+21`): clients derive the type of a column from its text. @throws {RangeError} for a number that is not finite.
 */
export function doubleText(value: number): string {
  if (!Number.isFinite(value)) throw new RangeError(`${value} has no JSON form`);
  if (Object.is(value, -0)) return "-0.0";
  const text = String(value);
  return Number.isInteger(value) && !text.includes("e") ? `${text}.0` : text;
}

const utf8 = new TextEncoder();
const [QUOTE, BACKSLASH] = [0x22, 0x5c];

/** Memory that is not cleared: what is written is all that is read. */
function newMemory(bytes: number): ArrayBuffer {
  return Buffer.allocUnsafeSlow(bytes).buffer;
}

/** Appends JSON text to one growing buffer; numbers of at most 15 digits are written without creating strings. */
export class ByteWriter {
  #bytes: Uint8Array<ArrayBuffer>;
  #length = 0;
  readonly #take: (bytes: number) => ArrayBuffer;

  /** @param take returns memory of at least a number of bytes. @default new memory */
  constructor(capacity = 65_536, take = newMemory) {
    this.#take = take;
    this.#bytes = new Uint8Array(take(capacity));
  }

  /** The bytes written so far; valid until the next write. */
  view(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length);
  }

  /** The bytes written so far, which then belong to the caller: later bytes go to another buffer. */
  take(): Uint8Array<ArrayBuffer> {
    const bytes = this.view();
    this.#bytes = new Uint8Array(this.#take(this.#bytes.length));
    this.#length = 0;
    return bytes;
  }

  get length(): number {
    return this.#length;
  }

  ascii(text: string): void {
    this.#reserve(text.length);
    for (let i = 0; i < text.length; i++) this.#bytes[this.#length++] = text.charCodeAt(i);
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  dropByte(): void {
    this.#length -= 1;
  }

  jsonString(text: string): void {
    const start = this.#length;
    this.#reserve(text.length + 2);
    this.#bytes[this.#length++] = QUOTE;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code < 0x20 || code > 0x7e || code === QUOTE || code === BACKSLASH) {
        this.#length = start;
        this.bytes(utf8.encode(JSON.stringify(text)));
        return;
      }
      this.#bytes[this.#length++] = code;
    }
    this.#bytes[this.#length++] = QUOTE;
  }

  /**
   * Writes numbers as by {@link doubleText}, each followed by a comma. @param nonFinite the text of a number that is
   * not finite. @default it throws
   */
  doubles(values: Float64Array, nonFinite?: string): void {
    for (let start = 0; start < values.length; start += numberKernel.most) {
      const run = values.subarray(start, start + numberKernel.most);
      numberKernel.loadDoubles(run);
      for (let at = 0; at < run.length; at++) {
        at = numberKernel.writeDoubles(at, run.length);
        this.bytes(numberKernel.text);
        if (at === run.length) break;
        const value = run[at] as number;
        const isText = nonFinite !== undefined && !Number.isFinite(value);
        this.ascii(`${isText ? nonFinite : doubleText(value)},`);
      }
    }
  }

  /** Writes 64-bit integers, each followed by a comma. */
  integers(values: BigInt64Array): void {
    for (let start = 0; start < values.length; start += numberKernel.most) {
      const run = values.subarray(start, start + numberKernel.most);
      numberKernel.loadIntegers(run);
      for (let at = 0; at < run.length; at++) {
        at = numberKernel.writeIntegers(at, run.length);
        this.bytes(numberKernel.text);
        if (at < run.length) this.ascii(`${run[at]},`);
      }
    }
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(this.#take(Math.max(needed, this.#bytes.length * 2)));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}

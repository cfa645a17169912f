/** The powers of ten that a double represents exactly. */
const POWERS_OF_TEN = Float64Array.from({ length: 23 }, (_, k) => Number(`1e${k}`));

/** Most digits for which integer / 10^k is correctly rounded (Clinger 1990, "How to read floating point numbers"). */
const EXACT_DIGITS = 15;

const MINUS = 0x2d;
const PLUS = 0x2b;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const LOWER_E = 0x65;
const UPPER_E = 0x45;

const latin1 = new TextDecoder("latin1");

/** The result of {@link NumberToken.scan}. `incomplete`: the bytes end where the number may continue. */
export type ScanResult = "number" | "incomplete" | "invalid";

/** A number in the form in which a response states it. */
export type StatedNumber = Pick<NumberToken, "toDouble" | "toSmallInteger" | "toBigInt" | "text">;

/**
 * One JSON number in a byte buffer: scanned and validated once, then read as a double or as an int64. The object is
 * reused for every token, so that a number needs no allocation.
 */
export class NumberToken {
  #bytes: Uint8Array = new Uint8Array(0);
  #start = 0;
  /** Index of the first byte after the token; valid after a scan that returned "number". */
  end = 0;
  #negative = false;
  /** All digits as one integer, which is exact up to {@link EXACT_DIGITS} digits. */
  #mantissa = 0;
  /** Number of digits, including leading zeros. */
  #digits = 0;
  /** Number of digits after the decimal point. */
  #scale = 0;
  #hasExponent = false;

  /**
   * Scans a number from `start` to `length` at most. One that reaches the end is "incomplete", unless it is valid and
   * the bytes are the `final` ones.
   */
  scan(bytes: Uint8Array, start: number, length: number, final: boolean): ScanResult {
    const negative = bytes[start] === MINUS;
    const first = negative ? start + 1 : start;
    let i = first;
    let byte = 0;
    let mantissa = 0;
    while (i < length && (byte = bytes[i] as number) >= ZERO && byte <= NINE) {
      mantissa = mantissa * 10 + (byte - ZERO);
      i += 1;
    }
    let digits = i - first;
    if (i === length && (digits === 0 || !final)) return "incomplete";
    if (digits === 0 || (digits > 1 && bytes[first] === ZERO)) return "invalid";
    let scale = 0;
    if (byte === DOT && i < length) {
      const fraction = ++i;
      while (i < length && (byte = bytes[i] as number) >= ZERO && byte <= NINE) {
        mantissa = mantissa * 10 + (byte - ZERO);
        i += 1;
      }
      scale = i - fraction;
      digits += scale;
      if (i === length && (scale === 0 || !final)) return "incomplete";
      if (scale === 0) return "invalid";
    }
    let hasExponent = false;
    if ((byte === LOWER_E || byte === UPPER_E) && i < length) {
      const result = this.#skipExponent(bytes, i + 1, length, final);
      if (result !== "number") return result;
      hasExponent = true;
      i = this.end;
    }
    this.#bytes = bytes;
    this.#start = start;
    this.end = i;
    this.#negative = negative;
    this.#mantissa = mantissa;
    this.#digits = digits;
    this.#scale = scale;
    this.#hasExponent = hasExponent;
    return "number";
  }

  /** Scans the sign and the digits of an exponent; sets `end`. */
  #skipExponent(bytes: Uint8Array, start: number, length: number, final: boolean): ScanResult {
    let i = start;
    if (i < length && (bytes[i] === PLUS || bytes[i] === MINUS)) i += 1;
    const first = i;
    while (i < length && (bytes[i] as number) >= ZERO && (bytes[i] as number) <= NINE) i += 1;
    if (i === length && (i === first || !final)) return "incomplete";
    this.end = i;
    return i === first ? "invalid" : "number";
  }

  text(): string {
    return latin1.decode(this.#bytes.subarray(this.#start, this.end));
  }

  /** The nearest double, with the same bits as the result of JSON.parse. An overflow gives an infinity. */
  toDouble(): number {
    if (this.#digits <= EXACT_DIGITS && this.#scale <= 22 && !this.#hasExponent) {
      const value = this.#mantissa / (POWERS_OF_TEN[this.#scale] as number);
      return this.#negative ? -value : value;
    }
    return Number(this.text());
  }

  /** The value as a double, if it is an integer of at most 15 digits without fraction or exponent; else NaN. */
  toSmallInteger(): number {
    if (this.#digits > EXACT_DIGITS || this.#scale !== 0 || this.#hasExponent) return Number.NaN;
    return this.#negative ? -this.#mantissa : this.#mantissa;
  }

  /** The exact integer value of the token (`100.0` and `1e2` are 100), or the reason why it has none. */
  toBigInt(): bigint | "fraction" | "range" {
    const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(this.text());
    if (match === null) return "fraction";
    const [, sign = "", whole = "", fraction = "", exponentText = "0"] = match;
    const digits = `${whole}${fraction}`.replace(/^0+/, "");
    if (digits === "") return 0n;
    const trimmed = digits.replace(/0+$/, "");
    const exponent = Number(exponentText) - fraction.length + (digits.length - trimmed.length);
    if (exponent < 0) return "fraction";
    if (trimmed.length + exponent > 19) return "range";
    const value = BigInt(`${sign}${trimmed}${"0".repeat(exponent)}`);
    return BigInt.asIntN(64, value) === value ? value : "range";
  }
}

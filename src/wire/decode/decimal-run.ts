import { EXACT_DIGITS, POWERS_OF_TEN } from "./number-token.js";

const RUN_LENGTH = 1024;
/** More bytes than a short decimal and its comma have. */
const MARGIN = 32;

const SPACE = 0x20;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;

/**
 * Short decimals that follow each other in an array, each with a comma after it: nearly all bytes of an answer.
 *
 * Entry k is `digits[k] / 10^scales[k]` and stands at byte `offsets[k]` of the document. It has at most 15 digits and no
 * exponent, so that {@link decimalAt} is exact. One object is reused from run to run.
 */
export class DecimalRun {
  readonly digits = new Float64Array(RUN_LENGTH);
  readonly scales = new Uint8Array(RUN_LENGTH);
  readonly offsets = new Float64Array(RUN_LENGTH);
  length = 0;

  /**
   * Fills the run from a buffer whose first byte is byte `base` of the document, and stops at whatever is not a short
   * decimal with a comma after it: that is for {@link NumberToken} to read, or to refuse.
   *
   * @returns the index at which it stopped: `start`, or one after a comma.
   */
  scan(bytes: Uint8Array, start: number, base: number): number {
    const { digits, scales, offsets } = this;
    // Numbers that end near the buffer's end are left too, so that no read but that of an endless number is outside.
    const last = bytes.length - MARGIN;
    let from = start;
    let count = 0;
    while (count < RUN_LENGTH && from < last) {
      let i = from;
      while (bytes[i] === SPACE) i += 1;
      const token = i;
      const negative = bytes[i] === MINUS;
      if (negative) i += 1;
      const first = i;
      let byte = 0;
      let mantissa = 0;
      while ((byte = bytes[i] as number) >= ZERO && byte <= NINE) {
        mantissa = mantissa * 10 + (byte - ZERO);
        i += 1;
      }
      const whole = i - first;
      let scale = 0;
      if (byte === DOT) {
        const fraction = ++i;
        while ((byte = bytes[i] as number) >= ZERO && byte <= NINE) {
          mantissa = mantissa * 10 + (byte - ZERO);
          i += 1;
        }
        scale = i - fraction;
        if (scale === 0) break;
      }
      if (byte !== COMMA || whole === 0 || whole + scale > EXACT_DIGITS) break;
      if (whole > 1 && bytes[first] === ZERO) break;
      digits[count] = negative ? -mantissa : mantissa;
      scales[count] = scale;
      offsets[count] = base + token;
      count += 1;
      from = i + 1;
    }
    this.length = count;
    return from;
  }
}

/** The value of entry `k`: the nearest double, bit-equal to what JSON.parse gives. */
export function decimalAt(run: DecimalRun, k: number): number {
  return (run.digits[k] as number) / (POWERS_OF_TEN[run.scales[k] as number] as number);
}

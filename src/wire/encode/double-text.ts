/**
 * The JSON text of a double: the shortest decimal that reads back to the same double, with a fraction or an exponent
 * (`100.0`, `1e+21`). Clients derive the type of a column from its text. Without the fraction, whole prices would
 * become integers.
 *
 * @throws {RangeError} for a number that is not finite.
 */
export function doubleText(value: number): string {
  if (!Number.isFinite(value)) throw new RangeError(`${value} has no JSON form`);
  if (Object.is(value, -0)) return "-0.0";
  const text = String(value);
  return Number.isInteger(value) && !text.includes("e") ? `${text}.0` : text;
}

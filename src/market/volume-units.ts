/** Up to this number of shares, twice the shares plus a unit is exact as a double. */
const MOST_SHARES = 2 ** 51;

/**
 * Shares in units of volume, rounded half up, as in the macro `units_of`; undefined where the number is too large for
 * doubles.
 */
export function unitsOf(shares: number, unit: number): number | undefined {
  if (shares > MOST_SHARES) return undefined;
  const doubled = shares * 2 + unit;
  return (doubled - (doubled % (2 * unit))) / (2 * unit);
}

/** As {@link unitsOf}, but returns the nearest double where the number of shares is too large. */
export function nearUnitsOf(shares: number, unit: number): number {
  return unitsOf(shares, unit) ?? Math.round(shares / unit);
}

/** Shares below this, doubled and with a unit added, are exact as doubles. */
const MOST_SHARES = 2 ** 51;

/** Shares in units of volume, rounded half up, as the macro `units_of`; undefined where they are too many for doubles. */
export function unitsOf(shares: number, unit: number): number | undefined {
  if (shares > MOST_SHARES) return undefined;
  const doubled = shares * 2 + unit;
  return (doubled - (doubled % (2 * unit))) / (2 * unit);
}

/** As {@link unitsOf}; of shares that are too many for doubles, the nearest double. */
export function nearUnitsOf(shares: number, unit: number): number {
  return unitsOf(shares, unit) ?? Math.round(shares / unit);
}

/** Prices this near to a limit count as equal to it: half of the smallest tick, 0.001. Prices are binary fractions. */
export const LIMIT_TOLERANCE = 0.0005;

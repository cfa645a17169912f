/** How near to a price limit a price counts as at it: half of the smallest tick, 0.001. Prices are binary fractions. */
export const LIMIT_TOLERANCE = 0.0005;

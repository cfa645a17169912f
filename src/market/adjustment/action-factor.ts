/** What the corporate actions of an ex-date give to the holder of one share of the evening before. */
export interface DayActions {
  /** Cash, in the currency of the price. */
  readonly cash: number;
  /** Shares in addition to the one: 0.3 for a stock dividend of 3 for 10, 3 for a split of 4 for 1, -0.9 for a consolidation of 10. */
  readonly shares: number;
  /** Shares that may be bought. */
  readonly rights: number;
  /** What all of these cost together: the sum of rights times price. */
  readonly paid: number;
}

/**
 * The factor of an ex-date by its actions: the close of the session before, divided by the theoretical ex-price
 * (P - c + r q) / (1 + s + r), as the exchanges of Shanghai and Shenzhen state it in their trading rules.
 *
 * @param lastClose close of the session before, in the currency of the actions.
 * @returns above 1 for a payout or a split; NaN where the close is not a positive number, or no positive price is left.
 */
export function actionFactor(lastClose: number, { cash, shares, rights, paid }: DayActions): number {
  const left = lastClose - cash + paid;
  const after = 1 + shares + rights;
  const isPrice = lastClose > 0 && lastClose < Number.POSITIVE_INFINITY;
  return isPrice && left > 0 && after > 0 ? (lastClose * after) / left : Number.NaN;
}

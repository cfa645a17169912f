/** The factor of an ex-date by its actions, by the rule of `actionFactor`; null where that is NaN, or where a value is null. */
export function actionFactorSql(
  lastClose: string,
  cash: string,
  shares: string,
  rights: string,
  paid: string,
): string {
  const left = `(${lastClose} - ${cash} + ${paid})`;
  const after = `(1 + ${shares} + ${rights})`;
  return `CASE WHEN ${lastClose} > 0 AND isfinite(${lastClose}) AND ${left} > 0 AND ${after} > 0 THEN ${lastClose} * ${after} / ${left} END`;
}

import { SESSION_HOURS } from "../../calendar/sessions.js";
import type { Region } from "../../core/exchange.js";
import { MINUTE_MS } from "../../core/time.js";
import { perRegion } from "../../db/region-sql.js";

const MIDNIGHT = 1440;

/** Milliseconds since local midnight of the trading date at which a bar is labelled. */
export const LOCAL_MS_SQL = `(epoch_ms(${perRegion("region", ({ zone }) => `timezone('${zone}', "timestamp")`)}) - epoch_ms(CAST(trade_date AS TIMESTAMP)))`;

/**
 * The label of the bar that a minute bar goes into: milliseconds since local midnight.
 *
 * Each part of the session has a grid of its own, anchored at its opening, and its last bar ends with it. A minute
 * before a part, or after the last, goes to the bar whose end on that grid covers it; the opening auction's bar,
 * labelled with the opening itself, goes into the first bar.
 *
 * @param local SQL of {@link LOCAL_MS_SQL}'s value.
 */
export function labelSql(local: string, minutes: number): string {
  return perRegion("region", ({ region }) => sessionLabelSql(region, local, minutes));
}

function sessionLabelSql(region: Region, local: string, minutes: number): string {
  const { parts, barsPerDay } = SESSION_HOURS[region];
  const sessionMinutes = parts.reduce((sum, [open, close]) => sum + close - open, 0);
  const hasAuction = barsPerDay > sessionMinutes;
  const step = minutes * MINUTE_MS;
  const cases = parts.map(([open, close]) => {
    const [first, last] = [open * MINUTE_MS, close * MINUTE_MS];
    const before = `${first} - ((${first} - ${local}) // ${step}) * ${step}`;
    const within = `least(${last}, ${first} + greatest((${local} - ${first} + ${step - 1}) // ${step}, 1) * ${step})`;
    return `WHEN ${local} ${hasAuction ? "<" : "<="} ${first} THEN ${before} WHEN ${local} <= ${last} THEN ${within}`;
  });
  const anchor = (parts.at(-1) as readonly [number, number])[0] * MINUTE_MS;
  const after = `least(${MIDNIGHT * MINUTE_MS}, ${anchor} + ((${local} - ${anchor} + ${step - 1}) // ${step}) * ${step})`;
  return `CASE ${cases.join(" ")} ELSE ${after} END`;
}

import type { TradingDate } from "../../core/time.js";
import { literal, literalList } from "../../db/quote.js";
import type { Session } from "../../db/session.js";
import type { Region } from "../../market/regions.js";
import { unknownSpans } from "../../market/trading-calendar.js";

/** Dates of a region that count as sessions though the lake does not know its trading days at that time. */
export interface AssumedSessions {
  readonly region: Region;
  readonly dates: number;
  readonly first: TradingDate;
  readonly last: TradingDate;
}

/**
 * Adds to the table `panel_sessions (day)` the weekdays on which anything traded, where a region's trading days are not
 * known.
 *
 * @param regions regions of which some trading days are known.
 * @param table the view of the bars.
 * @param window the dataset's dates, as an SQL condition on `trade_date`.
 */
export async function assumeSessions(
  session: Session,
  regions: readonly Region[],
  table: string,
  window: string,
): Promise<AssumedSessions[]> {
  const assumed: AssumedSessions[] = [];
  for (const region of regions) {
    const known = await session.json<{ day: TradingDate }>(
      `SELECT CAST(trade_date AS VARCHAR) AS day FROM raw.trading_days WHERE region = ${literal(region)} ORDER BY trade_date`,
    );
    const spans = unknownSpans(known.map(({ day }) => day)).map(({ after, before }) =>
      [
        "true",
        ...(after === undefined ? [] : [`trade_date > DATE ${literal(after)}`]),
        ...(before === undefined ? [] : [`trade_date < DATE ${literal(before)}`]),
      ].join(" AND "),
    );
    const traded = await session.json<{ day: TradingDate }>(
      `SELECT DISTINCT CAST(trade_date AS VARCHAR) AS day FROM ${table}
       WHERE region = ${literal(region)} AND ${window} AND (${spans.join(" OR ")})
         AND volume > 0 AND is_final AND isodow(trade_date) < 6 ORDER BY day`,
    );
    const dates = traded.map(({ day }) => day);
    const [first, last] = [dates[0], dates.at(-1)];
    if (first === undefined || last === undefined) continue;
    await session.run(
      `INSERT INTO panel_sessions
       SELECT day FROM (SELECT unnest(${literalList(dates)})::DATE AS day) ANTI JOIN panel_sessions USING (day)`,
    );
    assumed.push({ region, dates: dates.length, first, last });
  }
  return assumed;
}

import type { TradingDate } from "../../core/time.js";
import { readKnownDays } from "../../db/market/read-ex-rules.js";
import { literal, literalList } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import type { TempTable } from "../../db/session/temp-table.js";
import type { Region } from "../../market/regions.js";
import { unknownSpans } from "../../market/trading-calendar.js";

/** Dates of a region that count as sessions although the lake does not know whether they were trading days. */
export interface AssumedSessions {
  readonly region: Region;
  readonly dates: number;
  readonly first: TradingDate;
  readonly last: TradingDate;
}

/**
 * Adds to a table of trading days the weekdays on which anything traded, where a region's trading days are not known.
 *
 * @param sessions the table, with the column `day`.
 * @param options.regions regions of which some trading days are known.
 * @param options.bars the view of the bars.
 * @param options.window the dataset's dates, as an SQL condition on `trade_date`.
 */
export async function assumeSessions(
  session: Session,
  sessions: TempTable,
  {
    regions,
    bars,
    window,
  }: { readonly regions: readonly Region[]; readonly bars: string; readonly window: string },
): Promise<AssumedSessions[]> {
  const assumed: AssumedSessions[] = [];
  const known = await readKnownDays(session);
  for (const region of regions) {
    const spans = unknownSpans(known.get(region) ?? []).map(({ after, before }) =>
      [
        "true",
        ...(after === undefined ? [] : [`trade_date > DATE ${literal(after)}`]),
        ...(before === undefined ? [] : [`trade_date < DATE ${literal(before)}`]),
      ].join(" AND "),
    );
    const traded = await session.json<{ day: TradingDate }>(
      `SELECT DISTINCT CAST(trade_date AS VARCHAR) AS day FROM ${bars}
       WHERE region = ${literal(region)} AND ${window} AND (${spans.join(" OR ")})
         AND volume > 0 AND is_final AND isodow(trade_date) < 6 ORDER BY day`,
    );
    const dates = traded.map(({ day }) => day);
    const [first, last] = [dates[0], dates.at(-1)];
    if (first === undefined || last === undefined) continue;
    await session.run(
      `INSERT INTO ${sessions.name}
       SELECT day FROM (SELECT unnest(${literalList(dates)})::DATE AS day) ANTI JOIN ${sessions.name} USING (day)`,
    );
    assumed.push({ region, dates: dates.length, first, last });
  }
  return assumed;
}

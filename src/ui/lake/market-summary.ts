import type { Reader } from "../../lake/publish.js";
import { isRegion, type Region } from "../../market/regions.js";
import { sessionStatus } from "../../market/session-status.js";
import { BARS_1D } from "../../schema/bars.js";
import type { MarketReport } from "../page-data.js";

/** Instruments of each region that are shown: those with the largest amount. */
const MOST_TRADED = 5;

interface MarketRow {
  readonly region: string;
  readonly day: string;
  readonly bars: number;
  readonly up: number;
  readonly down: number;
  readonly unchanged: number;
  readonly unknown: number;
  readonly open: number;
}

interface TradedRow {
  readonly region: string;
  readonly symbol: string;
  readonly name: string | null;
  readonly close: number;
  readonly change: number | null;
  readonly amount: number;
}

/** What each region's newest landed session was like. @param now epoch milliseconds. */
export async function marketSummary({ session, snapshots }: Reader, now: number): Promise<MarketReport[]> {
  const snapshot = snapshots.find(({ table }) => table === BARS_1D);
  const years = new Map<Region, number>();
  for (const { partitionValues } of snapshot?.files.values() ?? []) {
    const { region, year } = partitionValues;
    if (region != null && isRegion(region)) years.set(region, Math.max(years.get(region) ?? 0, Number(year)));
  }
  if (years.size === 0) return [];
  // The newest partition of each region: the others need not be opened.
  const newest = [...years].map(([region, year]) => `(region = '${region}' AND year = ${Math.trunc(year)})`);
  const days = `newest AS MATERIALIZED (
    SELECT b.*, b.close / nullif(b.prev_close, 0) - 1 AS change
    FROM raw.bars_1d AS b
    JOIN (SELECT region, max(trade_date) AS trade_date FROM raw.bars_1d WHERE ${newest.join(" OR ")} GROUP BY region) AS d
      USING (region, trade_date)
    WHERE ${newest.join(" OR ")})`;
  const rows = await session.json<MarketRow>(
    `WITH ${days}
     SELECT region, any_value(trade_date)::VARCHAR AS day, count(*)::INT AS bars,
       count(*) FILTER (change > 0)::INT AS up, count(*) FILTER (change < 0)::INT AS down,
       count(*) FILTER (change = 0)::INT AS unchanged, count(*) FILTER (change IS NULL)::INT AS "unknown",
       count(*) FILTER (NOT is_final)::INT AS open
     FROM newest GROUP BY region ORDER BY region`,
  );
  const traded = await session.json<TradedRow>(
    `WITH ${days}
     SELECT region, symbol, i.name, close, change, amount
     FROM (SELECT * FROM newest WHERE amount > 0
       QUALIFY row_number() OVER (PARTITION BY region ORDER BY amount DESC, symbol) <= ${MOST_TRADED})
     LEFT JOIN (SELECT symbol, name FROM instruments) AS i USING (symbol)
     ORDER BY region, amount DESC, symbol`,
  );
  return rows.map(({ region, ...row }) => ({
    region: region as Region,
    ...row,
    status: isRegion(region) ? sessionStatus(region, now) : "closed",
    traded: traded.filter((one) => one.region === region),
  }));
}

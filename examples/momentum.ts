/*
 * The strongest symbols of an index over the last 20 sessions, from a lake.
 *
 *   npx tsx examples/momentum.ts [LAKE]
 */
import { openLake } from "barlake";

await using lake = openLake(process.argv[2] ?? "data/demo/lake");
const strongest = await lake.query<{ symbol: string; change: number }>(
  `WITH closes AS (
     SELECT symbol, close, row_number() OVER (PARTITION BY symbol ORDER BY timestamp DESC) AS age
     FROM adjusted('1d', 'forward')
     WHERE symbol IN (SELECT symbol FROM universe_members WHERE id = $universe)
   )
   SELECT symbol, max(close) FILTER (age = 1) / max(close) FILTER (age = 21) - 1 AS change
   FROM closes WHERE age IN (1, 21) GROUP BY symbol HAVING change IS NOT NULL ORDER BY change DESC, symbol LIMIT 5`,
  { universe: "SIM_CN_50" },
);
for (const { symbol, change } of strongest.rows()) console.log(`${symbol}  ${(100 * change).toFixed(1)} %`);

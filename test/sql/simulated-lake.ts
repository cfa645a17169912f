import { parseTradingDate } from "../../src/core/time.js";
import type { Lake } from "../../src/lake/lake.js";
import { dayRange } from "../../src/market/sessions.js";
import { fillLake } from "../../src/sim/fill-lake.js";
import { type Market, simulateMarket } from "../../src/sim/market.js";
import { fixtureLake } from "../lake/fixture-lake.js";

/** How much of a simulated market a test's lake holds. */
export interface SimulatedLake {
  readonly symbols: number;
  readonly days: number;
  /** Last date of the history. */
  readonly end: string;
  readonly minuteDays: number;
}

/** Fills a lake with the bars of all regions, reference data, statements and trading days. */
export async function fillSimulated(
  folder: string,
  expected: SimulatedLake,
): Promise<{ lake: Lake; market: Market }> {
  const { minuteDays, ...size } = expected;
  const fixture = { filledBy: import.meta.url, name: JSON.stringify(expected) };
  const end = parseTradingDate(expected.end);
  const market = simulateMarket({ ...size, seed: 7, end });
  const now = dayRange("US", end).end + 86_400_000;
  const lake = await fixtureLake(folder, fixture, (empty) =>
    fillLake(empty, market, { minuteDays, minuteRegions: ["CN", "HK", "US"], runId: "sim", now }),
  );
  return { lake, market };
}

/**
 * A SELECT of a table of statements in which half of the restatements have the announcement of the original, and some
 * none.
 */
export function restatedSql(table: string): string {
  return `SELECT * REPLACE (CASE
      WHEN first_seen_at = min(first_seen_at) OVER (PARTITION BY symbol, period_end) OR hash(symbol, period_end) % 4 = 0 THEN announce_date
      WHEN hash(symbol, period_end) % 4 < 3 THEN first_value(announce_date) OVER (PARTITION BY symbol, period_end ORDER BY first_seen_at)
    END AS announce_date) FROM raw.${table}`;
}

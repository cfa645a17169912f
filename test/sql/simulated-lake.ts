import { dayRange } from "../../src/calendar/sessions.js";
import { parseTradingDate } from "../../src/core/time.js";
import { Lake } from "../../src/lake/lake.js";
import { fillLake } from "../../src/sim/fill-lake.js";
import { type Market, simulateMarket } from "../../src/sim/market.js";

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
  wanted: SimulatedLake,
): Promise<{ lake: Lake; market: Market }> {
  const { minuteDays, ...size } = wanted;
  const end = parseTradingDate(wanted.end);
  const market = simulateMarket({ ...size, seed: 7, end });
  const lake = new Lake(folder);
  const now = dayRange("US", end).end + 86_400_000;
  await fillLake(lake, market, { minuteDays, minuteRegions: ["CN", "HK", "US"], runId: "sim", now });
  return { lake, market };
}

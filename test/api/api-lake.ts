import type { TradingDate } from "../../src/core/time.js";
import type { Lake } from "../../src/lake/lake.js";
import { fillLake } from "../../src/sim/fill-lake.js";
import { simulateMarket } from "../../src/sim/market.js";
import { fixtureLake } from "../lake/fixture-lake.js";

/** A Saturday, after the last bar. */
export const NOW = Date.parse("2026-11-21T00:00:00Z");

/** A lake of a small simulated market, with minutes of two days, in a folder. */
export function apiLake(folder: string): Promise<Lake> {
  return fixtureLake(folder, { filledBy: import.meta.url, name: "api" }, async (lake) => {
    const end = "2026-11-20" as TradingDate;
    const market = simulateMarket({ seed: 4, symbols: 24, days: 60, end });
    await fillLake(lake, market, { minuteDays: 2, runId: "sim", now: NOW });
  });
}

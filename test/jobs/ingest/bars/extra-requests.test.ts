import { expect, test } from "vitest";
import { definePipeline } from "../../../../src/jobs/pipeline/definition.js";
import { planPipeline } from "../../../../src/jobs/run/run-pipeline.js";
import { json } from "../../../faults/service/scripted-service.js";
import { queryLake } from "../../../lake/temporary-lake.js";
import { newestBars, weekdays } from "../../minute-market.js";
import { scriptedMarket } from "../../scripted-market.js";

const NOW = "2023-02-18T00:00:00Z";
/** The first Monday of the window is a holiday, which the lake does not know; so is a week in January. */
const DAYS = weekdays("2023-01-03", "2023-02-18").filter((_, n) => n < 13 || n >= 18);
const SYMBOLS = 6000;
const PER_REQUEST = 50;

/** The days on which a symbol trades: usually all; some start late, some miss the first or last days, some all. */
function daysOf(n: number): number[] {
  // Two requests have only symbols that were listed during the window, on different days.
  if (n >= 1000 && n < 1000 + 2 * PER_REQUEST) return DAYS.slice(1 + (n % 25));
  if (n % 10 === 3) return DAYS.slice(n % 29);
  if (n % 50 === 7) return DAYS.slice(4);
  if (n % 50 === 8) return DAYS.slice(0, 9);
  if (n % 50 === 9) return [];
  return DAYS;
}

test("what proves that responses are whole costs less than 2 % of the plan's requests, without listing dates", async () => {
  const market = Object.fromEntries(
    Array.from({ length: SYMBOLS }, (_, n) => [`${600_000 + n}.SH`, daysOf(n)]),
  );
  const { lake, clock, run } = await scriptedMarket(
    (seen, response) => json(response, 200, { data: newestBars(seen, market) }),
    NOW,
  );
  const daily = { name: "daily", kind: "bars", period: "1d", from: "2023-01-01" } as const;
  const symbols = Object.keys(market);
  const known = { symbolsPerRequest: { klines: PER_REQUEST } };
  const limits = { limits: { requestsPerMinute: {}, rowCap: {}, ...known }, learn: () => {} };
  const plan = await planPipeline(definePipeline(daily), { symbols }, { lake, clock, limits });
  expect(plan).toHaveLength(SYMBOLS / PER_REQUEST);
  const report = await run(daily, { symbols }, undefined, known);
  const extra = report.requests.sent - SYMBOLS / PER_REQUEST;
  expect(extra).toBeGreaterThan(0);
  expect(extra / report.requests.sent).toBeLessThan(0.02);
  const [found] = await queryLake<{ n: number }>(lake, "SELECT count(*)::INT AS n FROM bars_1d");
  expect(found?.n).toBe(symbols.reduce((sum, symbol) => sum + (market[symbol]?.length ?? 0), 0));
  expect((await run(daily, { symbols }, undefined, known)).requests.sent).toBe(0);
});

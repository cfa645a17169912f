import { expect, test } from "vitest";
import type { PipelineDefinition } from "../../../../src/jobs/pipeline/definition.js";
import { json } from "../../../faults/service/scripted-service.js";
import { queryLake } from "../../../lake/temporary-lake.js";
import { newestBars, weekdays } from "../../minute-market.js";
import { scriptedMarket } from "../../scripted-market.js";

const NOW = "2023-05-20T00:00:00Z";
const DAYS = weekdays("2022-01-03", "2023-05-20");
const CAP = 25;

const dateOf = (index: number): string =>
  new Date((DAYS[index] as number) + 8 * 3_600_000).toISOString().slice(0, 10);
const daily = (from: number): PipelineDefinition => {
  return { name: "daily", kind: "bars", period: "1d", from: dateOf(from) };
};

/** A service with bars of all days, of which a response has the newest 25; `covered` days are in the lake. */
async function coveredMarket(symbols: readonly string[], covered: Record<string, readonly [number, number]>) {
  const market = Object.fromEntries(symbols.map((symbol) => [symbol, DAYS]));
  const limits = { cap: 10_000 };
  const parts = await scriptedMarket(
    (seen, response) => json(response, 200, { data: newestBars(seen, market, limits.cap) }),
    NOW,
  );
  for (const [symbol, [from, to]] of Object.entries(covered))
    await parts.run(daily(from), { symbols: [symbol], to: dateOf(to) });
  limits.cap = CAP;
  const before = parts.service.seen.length;
  const report = await parts.run(daily(0), { symbols });
  const counts = await queryLake<{ symbol: string; n: number }>(
    parts.lake,
    "SELECT symbol, count(*)::INT AS n FROM bars_1d GROUP BY symbol ORDER BY symbol",
  );
  const sent = parts.service.seen.length - before;
  const again = await parts.run(daily(0), { symbols });
  return { report, sent, counts, again };
}

test("pages of a cut response skip the time that the lake has: what lies before it is one more request", async () => {
  const end = DAYS.length - 40;
  const { report, sent, counts, again } = await coveredMarket(["600519.SH"], { "600519.SH": [20, end] });
  expect(report.status).toBe("complete");
  expect(counts).toEqual([{ symbol: "600519.SH", n: DAYS.length }]);
  // 40 days after the covered ones take two responses, and the 20 before them one.
  expect(sent).toBe(3);
  expect(report.completeness[0]?.asked).toMatchObject({ symbols: 1, sessions: DAYS.length });
  expect(again.requests.sent).toBe(0);
});

test("a symbol with covered time shares the pages of one without", async () => {
  const symbols = ["600519.SH", "600520.SH"];
  const alone = await coveredMarket(symbols, {});
  const { report, sent, counts, again } = await coveredMarket(symbols, {
    "600519.SH": [20, DAYS.length - 40],
  });
  expect(report.status).toBe("complete");
  expect(counts.map(({ n }) => n)).toEqual([DAYS.length, DAYS.length]);
  expect(sent).toBe(alone.sent);
  expect(again.requests.sent).toBe(0);
});

import { expect, test } from "vitest";
import type { TradingDate } from "../../src/core/time.js";
import { fillLake } from "../../src/sim/fill-lake.js";
import { simulateMarket } from "../../src/sim/market.js";
import { ENDPOINTS, type EndpointName } from "../../src/wire/endpoints.js";
import { KEY, NOW, serveForTest } from "./served-lake.js";

/** What is asked of each endpoint: the path and query, and what is sent. */
const EXAMPLES: Readonly<Record<EndpointName, readonly (readonly [target: string, body?: object])[]>> = {
  klinesBatch: [
    ["/v1/klines/batch?symbols=600351.SH,07647.HK&count=2&adjust=none"],
    ["/v1/klines/batch?symbols=600351.SH&period=60m&count=4&adjust=none"],
    ["/v1/klines/batch?symbols=07647.HK&period=1w&count=2&adjust=backward"],
    ["/v1/klines/batch?symbols=600351.SH&start_time=1794844800000&end_time=1795017600000&adjust=none"],
    ["/v1/klines/batch?symbols=600351.SH&period=2d"],
  ],
  klines: [["/v1/klines?symbol=VAVC.US&count=2"], ["/v1/klines?symbol=NOBODY.US"]],
  exFactors: [["/v1/klines/ex-factors?symbols=831808.BJ,07647.HK"]],
  intraday: [["/v1/klines/intraday?symbol=600351.SH&count=3"]],
  intradayBatch: [["/v1/klines/intraday/batch?symbols=600351.SH,000590.SZ&period=30m&count=2"]],
  intradayUniverse: [["/v1/klines/intraday/universe?universes=SIM_CN_50"]],
  quotes: [["/v1/quotes", { symbols: ["600351.SH"], universes: ["HK_Equity"] }]],
  quotesOf: [["/v1/quotes?symbols=VAVC.US"]],
  instruments: [["/v1/instruments?symbols=600351.SH"]],
  instrumentsBatch: [["/v1/instruments", { symbols: ["510043.SH", "VAVC.US"] }]],
  symbols: [["/v1/symbols?symbols=07647.HK"]],
  symbolsBatch: [["/v1/symbols", { symbols: ["510043.SH"] }]],
  universes: [["/v1/universes"]],
  universe: [["/v1/universes/SIM_CN_50"]],
  universesBatch: [["/v1/universes/batch", { ids: ["HK_Equity", "US_Equity"] }]],
  exchanges: [["/v1/exchanges"]],
  exchangeInstruments: [["/v1/exchanges/SH/instruments?type=etf"]],
  balanceSheet: [["/v1/financials/balance-sheet?symbols=600653.SH&latest=true"]],
  cashFlow: [["/v1/financials/cash-flow?symbols=600653.SH&start_date=2026-01-01&end_date=2026-03-31"]],
  income: [["/v1/financials/income?symbols=600653.SH&latest=true"]],
  metrics: [["/v1/financials/metrics?symbols=600653.SH&latest=true"]],
  shares: [["/v1/financials/shares?symbols=600653.SH,510043.SH&latest=true"]],
};

const INTRODUCTION = `# The service, by example

Every endpoint, asked on a small simulated market. The responses are those of the service, whole: a test asks for them
again, and compares.

\`\`\`sh
npx barlake sim --symbols 8 --days 60 --minute-days 2 --seed 4 --end 2026-11-20 --lake data/example
BARLAKE_SERVE_KEYS=k npx barlake serve --lake data/example --port 8080
\`\`\`
`;

test("docs/service-examples.md has an example of every endpoint, with its real response", async () => {
  const end = "2026-11-20" as TradingDate;
  const { service } = await serveForTest(async (lake) => {
    const market = simulateMarket({ seed: 4, symbols: 8, days: 60, end });
    await fillLake(lake, market, { minuteDays: 2, runId: "sim", now: NOW });
  });
  const parts = [INTRODUCTION];
  for (const [name, examples] of Object.entries(EXAMPLES)) {
    const { method, path } = ENDPOINTS[name as EndpointName];
    parts.push(`## ${method} ${path.replaceAll(/:([a-z]+)/g, "{$1}")}\n`);
    for (const [target, body] of examples) {
      const sent =
        body === undefined ? "" : ` -H "content-type: application/json" -d '${JSON.stringify(body)}'`;
      const response = await fetch(service.url + target, {
        method,
        headers: { "x-api-key": KEY, ...(body && { "content-type": "application/json" }) },
        ...(body && { body: JSON.stringify(body) }),
      });
      const { status } = response;
      const note = status === 200 ? "" : `\n\nStatus ${status}:`;
      parts.push(
        `\`\`\`sh\ncurl -H "x-api-key: k"${sent} "http://127.0.0.1:8080${target}"\n\`\`\`${note}\n\`\`\`json\n${await response.text()}\n\`\`\`\n`,
      );
      expect([target, status]).toEqual([
        target,
        /period=2d/.test(target) ? 400 : /NOBODY/.test(target) ? 404 : 200,
      ]);
    }
  }
  await expect(parts.join("\n")).toMatchFileSnapshot("../../docs/service-examples.md");
});

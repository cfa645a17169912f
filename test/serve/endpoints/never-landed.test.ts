import { expect, onTestFinished, test } from "vitest";
import { ServiceClient } from "../../../src/client/service-client.js";
import { definePipeline } from "../../../src/jobs/pipeline/definition.js";
import { runPipeline } from "../../../src/jobs/run/run-pipeline.js";
import { fenceOff } from "../../../src/lake/log/commit.js";
import { openLimitsStore } from "../../../src/lake/requests/service-limits.js";
import { INSTRUMENTS } from "../../../src/schema/reference.js";
import { BALANCE_SHEET, INCOME, METRICS, STATEMENT_NAMES } from "../../../src/schema/statements.js";
import { virtualClock } from "../../faults/clock/virtual-clock.js";
import { temporaryLake } from "../../lake/temporary-lake.js";
import { KEY, landFinancials, landReference, listed, NOW, serveForTest } from "../served-lake.js";

const SYMBOLS = ["600000.SH", "600001.SH"];
const FINANCIALS = definePipeline({ name: "financials", kind: "statements" });
const SHEETS = SYMBOLS.map((symbol) => ({ symbol, period_end: "2023-12-31", total_assets: 100 }));

const instrument = (total_shares: number | null) => listed("600000.SH", { total_shares });

test("tables of statements that never landed are 404, also after a run of them was killed, and a run against such a service is complete", async () => {
  const {
    service,
    ask,
    lake: served,
  } = await serveForTest(async (lake) => {
    await landFinancials(lake, BALANCE_SHEET, SHEETS);
    await landReference(lake, INSTRUMENTS, [instrument(null)]);
    await fenceOff(lake, METRICS, { id: "killed", runId: "killed" }, NOW);
  });
  const clock = virtualClock(new Date(NOW).toISOString());
  const [lake, client] = [
    temporaryLake(),
    new ServiceClient({ baseUrl: service.url, apiKey: KEY, clock, retries: 0, timeoutMs: 0 }),
  ];
  onTestFinished(() => client.close());
  const night = async () => {
    const limits = await openLimitsStore(lake.storage, { host: client.host, keyId: "key" }, clock);
    const report = await runPipeline(FINANCIALS, { symbols: SYMBOLS }, { lake, client, clock, limits });
    await limits.saved();
    clock.advance(86_400_000);
    return report;
  };
  const first = await night();
  expect(first).toMatchObject({ status: "complete", failures: [], rows: 2 });
  const others = STATEMENT_NAMES.filter((name) => name !== "balance_sheet");
  expect(first.notOffered).toEqual(
    others.map((dataset) => ({ dataset, reason: expect.stringContaining(`this service has no ${dataset}`) })),
  );
  // What a run has learned of it saves the requests of the next ones.
  expect(await night()).toMatchObject({ status: "complete", requests: { sent: 1 } });
  // Once the table has landed, a response without the symbol is one.
  await landFinancials(served, INCOME, [{ ...SHEETS[0], revenue: 1 }], NOW + 1000);
  expect((await ask("/v1/financials/income?symbols=AAPL.US")).status).toBe(200);
  expect((await ask("/v1/financials/metrics?symbols=AAPL.US")).status).toBe(404);
});

test("a request with an invalid parameter is 400, and numbers of shares that are derived are served", async () => {
  const { ask } = await serveForTest((lake) => landReference(lake, INSTRUMENTS, [instrument(5)]));
  expect((await ask("/v1/financials/income")).status).toBe(400);
  expect((await ask("/v1/financials/income?symbols=600000.SH")).status).toBe(404);
  expect((await ask("/v1/financials/shares?symbols=600000.SH")).status).toBe(200);
});

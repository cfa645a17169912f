import { expect, test } from "vitest";
import { runSummary } from "../../../src/cli/reports/report-text.js";
import { duration } from "../../../src/cli/text.js";
import type { PipelineDefinition } from "../../../src/jobs/pipeline/definition.js";
import { settleRun } from "../../../src/jobs/run/report/run-history.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { json } from "../../faults/service/scripted-service.js";
import { queryLake } from "../../lake/temporary-lake.js";
import { barsOn, dailyBars, right, scriptedMarket } from "../scripted-market.js";

const DAILY: PipelineDefinition = { name: "daily", kind: "bars", period: "1d", from: "2024-01-11" };

test("a clock that is set back or ahead while a run goes on changes no duration, and is reported", async () => {
  for (const [set, said] of [
    [-3_456_466, /clock was set 57 min 3\d s back during the run/],
    [7_200_000, /clock was set 1(19|20) min \d\d s ahead during the run/],
  ] as const) {
    let ticks = 0;
    const market = await scriptedMarket((seen, response, index) => {
      market.clock.advance(set);
      ticks += 1500;
      right(seen, response, index);
    }, "2024-01-13T00:00:00Z");
    Object.assign(market.clock, { monotonic: () => ticks });
    const { outcome } = await settleRun("daily", market.clock, () =>
      market.run(DAILY, { symbols: ["600519.SH"] }),
    );
    expect(outcome.finishedAt - outcome.startedAt).toBe(1500);
    expect(outcome).toMatchObject({ durationMs: 1500, clockShiftMs: expect.any(Number) });
    expect(runSummary(outcome as never, "lake")).toMatch(said);
    expect(
      await queryLake(
        market.lake,
        "SELECT epoch_ms(finished_at - started_at)::INT AS run, (SELECT duration_ms::INT FROM requests) AS request FROM runs",
      ),
    ).toEqual([{ run: 1500, request: 1500 }]);
  }
});

test("a clock ahead of the service's stops a run before anything lands, and the right one requests every day", async () => {
  const date = "Sat, 13 Jan 2024 00:00:00 GMT";
  const { run, lake, clock } = await scriptedMarket(
    (seen, response) => json(response, 200, { data: dailyBars(seen) }, { date }),
    "2024-01-20T00:00:00Z",
  );
  const report = await run(DAILY, { symbols: ["600519.SH"] });
  expect(report).toMatchObject({ status: "failed", rows: 0, landed: [] });
  expect(report.stopped).toMatch(/10080 min ahead of the service's.*set the clock that is wrong/);
  expect((await lake.snapshot(BARS_1D)).version).toBe(-1);
  clock.advance(-7 * 86_400_000);
  expect(await run(DAILY, { symbols: ["600519.SH"] })).toMatchObject({ status: "complete", rows: 3 });
});

test("a service whose clock is hours behind: the run uses its time, reports it, and lands no bar as final too early", async () => {
  const behind = 6 * 3_600_000;
  const state = { behind };
  // 20:00 in Shanghai; 14:00 by the service, whose session has not ended.
  const market = await scriptedMarket((seen, response) => {
    const date = new Date(market.clock.now() - state.behind).toUTCString();
    const days = ["2024-01-10", "2024-01-11"].map((day) => Date.parse(`${day}T16:00:00Z`));
    json(response, 200, { data: barsOn(days, seen, state.behind > 0 ? 9 : 10) }, { date });
  }, "2024-01-12T12:00:00Z");
  const { run, lake, clock, service } = market;
  const daily = (): ReturnType<typeof run> => run(DAILY, { symbols: ["600519.SH"] });
  const report = await daily();
  expect(report).toMatchObject({ status: "complete", rows: 2, clockAheadMs: expect.any(Number) });
  expect(Math.abs((report.clockAheadMs ?? 0) - behind)).toBeLessThan(2000);
  expect(runSummary(report as never, "lake")).toContain("ahead of the service's");
  const bars = (): Promise<unknown[]> =>
    queryLake(lake, "SELECT trade_date::VARCHAR AS day, close, is_final FROM raw.bars_1d ORDER BY day");
  expect(await bars()).toEqual([
    { day: "2024-01-11", close: 9, is_final: true },
    { day: "2024-01-12", close: 9, is_final: false },
  ]);
  // The service's clock is set: the bar that was still changing is requested again.
  state.behind = 0;
  clock.advance(1000);
  const before = service.seen.length;
  expect(await daily()).toMatchObject({ status: "complete", clockAheadMs: undefined });
  expect(service.seen.length).toBeGreaterThan(before);
  expect((await bars())[1]).toEqual({ day: "2024-01-12", close: 10, is_final: true });
  expect((await daily()).requests.sent).toBe(0);
});

test("a duration below 0, of a record from before, is no number", () => {
  expect(duration(-3_456_466)).toBe("an unknown time (the clock was set back)");
});

const UNIVERSE = { id: "KNOWN", name: "Known", category: "index", region: "CN", symbol_count: 1 };
const responses: Readonly<Record<string, unknown>> = {
  "/v1/exchanges": [],
  "/v1/universes": [UNIVERSE],
  "/v1/universes/batch": { KNOWN: { ...UNIVERSE, symbols: ["600519.SH"] } },
};

test("intraday of a universe that nobody knows is a failure with its name, and is requested again", async () => {
  const { run, service } = await scriptedMarket(
    (seen, response) => json(response, 200, { data: responses[seen.path] ?? {} }),
    "2024-01-12T04:00:00Z",
  );
  await run({ name: "reference", kind: "reference" });
  const before = service.seen.length;
  const intraday: PipelineDefinition = { name: "intraday", kind: "intraday", universes: ["NOSUCH"] };
  for (let time = 1; time <= 2; time++) {
    const report = await run(intraday);
    expect(report.status).toBe("partial");
    expect(report.failures).toMatchObject([
      {
        reason: expect.stringMatching(
          /^universe NOSUCH: the service gave nothing.*run the pipeline reference/,
        ),
      },
    ]);
    expect(service.seen).toHaveLength(before + time);
  }
});

test("where the lake knows no universes, a universe of which nothing came makes the run partial, by name", async () => {
  const { run } = await scriptedMarket(
    (_, response) => json(response, 200, { data: {} }),
    "2024-01-12T04:00:00Z",
  );
  const report = await run({ name: "intraday", kind: "intraday", universes: ["NOSUCH"] });
  expect(report).toMatchObject({
    status: "partial",
    symbols: [{ requested: 1, returned: 0 }],
    failures: [{ reason: expect.stringMatching(/^universe NOSUCH: the service gave nothing/) }],
  });
});

test("of several universes, one that the lake does not know is refused by its name", async () => {
  const { run } = await scriptedMarket(right, "2024-01-13T00:00:00Z");
  await expect(run(DAILY, { universes: ["NOSUCH", "OTHER"] })).rejects.toThrow(
    /universe NOSUCH, OTHER: the lake knows no members/,
  );
});

test("a run in which smaller requests fail has failed, and was not refused", async () => {
  const { run } = await scriptedMarket((seen, response) => {
    const isMany = (seen.query.get("symbols") ?? "").includes(",");
    if (isMany) json(response, 400, { code: "INVALID_PARAMETER", message: "too many symbols: at most 1" });
    else json(response, 500, { code: "INTERNAL", message: "not well" });
  }, "2024-01-13T00:00:00Z");
  const report = await run(DAILY, { symbols: ["600519.SH", "000001.SZ"] });
  expect(report).toMatchObject({ status: "failed", requests: { refused: 1, answered: 0 } });
  expect(report.failures.every(({ reason }) => reason.includes("not well"))).toBe(true);
});

test("members of a universe whose exchange is not known are not requested, and make the run partial, by name", async () => {
  const stocks = Array.from({ length: 40 }, (_, n) => `${600_500 + n}.SH`);
  const listOf = (symbols: readonly string[]) => ({ ...UNIVERSE, symbols, symbol_count: symbols.length });
  const members = listOf([...stocks, "D05.SG"]);
  const lists: Record<string, unknown> = { ...responses, "/v1/universes/batch": { KNOWN: members } };
  const { run, service, clock } = await scriptedMarket(
    (seen, response) => json(response, 200, { data: lists[seen.path] ?? dailyBars(seen) }),
    "2024-01-13T00:00:00Z",
  );
  await run({ name: "reference", kind: "reference" });
  expect(await run(DAILY, { universes: ["KNOWN"] })).toMatchObject({
    status: "partial",
    failures: [{ reason: expect.stringContaining("so they are not requested: D05.SG; "), symbols: 1 }],
  });
  expect(service.seen.at(-1)?.query.get("symbols")).not.toContain("D05.SG");
  // Once it is no member any more, nothing is lacking.
  lists["/v1/universes/batch"] = { KNOWN: listOf(stocks) };
  clock.advance(86_400_000);
  await run({ name: "reference", kind: "reference" });
  expect(await run(DAILY, { universes: ["KNOWN"] })).toMatchObject({ status: "complete", failures: [] });
});

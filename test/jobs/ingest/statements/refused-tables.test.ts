import { expect, test } from "vitest";
import { definePipeline } from "../../../../src/jobs/pipeline/definition.js";
import { runPipeline } from "../../../../src/jobs/run/run-pipeline.js";
import { openLimitsStore } from "../../../../src/lake/requests/service-limits.js";
import { STATEMENT_NAMES, type StatementName } from "../../../../src/schema/statements.js";
import { html, json, type Seen } from "../../../faults/service/scripted-service.js";
import { scriptedMarket } from "../../scripted-market.js";

const DAY = 86_400_000;
const SYMBOLS = ["600000.SH", "600001.SH"];
/** Symbols of 12 requests for a table, which are more than the failures after which a run stops. */
const MANY = Array.from({ length: 1200 }, (_, n) => `${600_000 + n}.SH`);
/** All tables, in one test: each takes as long to land as the others. */
const ALL = definePipeline({ name: "financials", kind: "statements" });
const TABLES: StatementName[] = ["income", "metrics", "shares"];
const PIPELINE = definePipeline({ name: "financials", kind: "statements", tables: TABLES });
const PERMISSION = { code: "NO_FINANCIAL_PERMISSION", message: "your plan lacks it" };
const RECORD = { period_end: "2023-09-30", announce_date: null, revenue: 1.5, total_shares: 100 };
const UNKNOWN = { code: "NOT_FOUND", message: "no such path" };

const tableOf = ({ path }: Seen): string => path.split("/").at(-1)?.replace("-", "_") ?? "";

/** A refusal: the status, and the error body, or the page of a proxy. */
type Refusal = readonly [status: number, body: object | string];

/** A service that refuses some tables; `night` runs the pipeline a day later, with what runs with the key have learned. */
async function refusingMarket(refused: Record<string, Refusal>) {
  const state: {
    refused: typeof refused;
    refusesLater: typeof refused;
    records: unknown[];
  } = { refused, refusesLater: {}, records: [RECORD] };
  const parts = await scriptedMarket((seen, response) => {
    const refusal = state.refused[tableOf(seen)];
    if (refusal !== undefined) {
      const [status, body] = refusal;
      return typeof body === "string" ? html(response, status) : json(response, status, body);
    }
    const later = state.refusesLater[tableOf(seen)];
    if (later !== undefined && service.seen.filter((one) => tableOf(one) === tableOf(seen)).length > 1)
      return json(response, ...later);
    const symbols = (seen.query.get("symbols") ?? "").split(",");
    json(response, 200, { data: Object.fromEntries(symbols.map((symbol) => [symbol, state.records])) });
  }, "2024-01-13T00:00:00Z");
  const { clock, lake, client, service } = parts;
  const night = async (keyId = "key", pipeline = PIPELINE, symbols = SYMBOLS) => {
    clock.advance(DAY);
    const before = service.seen.length;
    const limits = await openLimitsStore(lake.storage, { host: "service", keyId }, clock);
    const report = await runPipeline(pipeline, { symbols }, { lake, client, clock, limits });
    await limits.saved();
    return { report, status: report.status, requested: service.seen.slice(before).map(tableOf) };
  };
  return { ...parts, state, night };
}

test("five tables are requested and land", async () => {
  const { night } = await refusingMarket({});
  const { status, requested, report } = await night("key", ALL);
  expect([status, requested]).toEqual(["complete", [...STATEMENT_NAMES]]);
  expect(report.landed.map(({ table, inserted }) => [table, inserted])).toEqual(
    STATEMENT_NAMES.map((name) => [name, 2]),
  );
  expect(report.notOffered).toEqual([]);
});

test("a table that the plan lacks, or that does not exist, is reported, fails nothing, and is not requested again", async () => {
  const { night, clock } = await refusingMarket({ metrics: [403, PERMISSION], shares: [404, UNKNOWN] });
  const first = await night();
  expect([first.status, first.requested]).toEqual(["complete", [...TABLES]]);
  expect(first.report.failures).toEqual([]);
  expect(first.report.stopped).toBeUndefined();
  expect(first.report.symbols.map(({ dataset }) => dataset)).toEqual(["income"]);
  expect(first.report.notOffered).toMatchObject([
    { dataset: "metrics", reason: expect.stringContaining("NO_FINANCIAL_PERMISSION (status 403)") },
    { dataset: "shares", reason: expect.stringContaining("NOT_FOUND (status 404)") },
  ]);
  const second = await night();
  expect([second.status, second.requested]).toEqual(["complete", ["income"]]);
  expect(second.report.notOffered).toMatchObject([
    { dataset: "metrics", reason: expect.stringContaining("status 403") },
    { dataset: "shares", reason: expect.stringContaining("status 404") },
  ]);
  expect((await night("another key")).requested).toEqual([...TABLES]);
  clock.advance(6 * DAY);
  expect((await night()).requested).toEqual([...TABLES]);
});

test("a run of nothing but tables that are remembered as refused is refused", async () => {
  const { night } = await refusingMarket({ metrics: [403, PERMISSION] });
  expect((await night()).status).toBe("complete");
  const only = definePipeline({ name: "metrics", kind: "statements", tables: ["metrics"] });
  const { status, requested, report } = await night("key", only);
  expect([status, requested]).toEqual(["refused", []]);
  expect(report.stopped).toContain("metrics: an earlier run was refused it with status 403");
});

test("a refusal after responses of the same table is a failure, and the next run requests the rest", async () => {
  const { night, state } = await refusingMarket({});
  const tables: StatementName[] = ["income", "metrics"];
  const pipeline = definePipeline({ name: "financials", kind: "statements", tables });
  const many = MANY.slice(0, 500);
  state.refusesLater = { income: [403, PERMISSION], metrics: [404, UNKNOWN] };
  const first = await night("key", pipeline, many);
  expect([first.status, first.report.notOffered]).toEqual(["partial", []]);
  expect(new Set(first.report.failures.map(({ dataset }) => dataset))).toEqual(new Set(tables));
  state.refusesLater = {};
  const second = await night("key", pipeline, many);
  expect([second.status, second.report.notOffered]).toEqual(["complete", []]);
  expect(second.report.symbols.map(({ dataset, missing }) => [dataset, missing])).toEqual([
    ["income", []],
    ["metrics", []],
  ]);
});

test("a table that was offered before is a failure when it is refused", async () => {
  const { night, state } = await refusingMarket({});
  await night();
  state.refused = { income: [403, PERMISSION] };
  const { status, requested, report } = await night();
  expect([status, requested]).toEqual(["partial", [...TABLES]]);
  expect(report.failures).toMatchObject([{ symbols: 2 }]);
  expect(report.stopped).toContain("income: ");
  expect(report.notOffered).toEqual([]);
});

test.each<Refusal>([
  [403, PERMISSION],
  [404, UNKNOWN],
])(
  "where every table is refused with %i, the run is refused, and the next one asks again",
  async (...refusal) => {
    const tables: StatementName[] = ["income", "metrics"];
    const pipeline = definePipeline({ name: "financials", kind: "statements", tables });
    const { night, state } = await refusingMarket({ income: refusal, metrics: refusal });
    const first = await night("key", pipeline);
    expect([first.status, first.requested]).toEqual(["refused", tables]);
    expect(first.report.failures).toHaveLength(tables.length);
    expect(first.report.notOffered).toEqual([]);
    state.refused = {};
    expect(await night("key", pipeline)).toMatchObject({ status: "complete", requested: tables });
  },
);

test("an unknown symbol is no refusal of the table", async () => {
  const { night, state } = await refusingMarket({
    metrics: [404, { code: "SYMBOL_NOT_FOUND", message: "no such symbol" }],
  });
  expect((await night()).status).toBe("partial");
  state.refused = {};
  expect(await night()).toMatchObject({ status: "complete", requested: [...TABLES] });
});

test("refusals that do not state what the plan or the service lacks pass: the next run requests the tables again", async () => {
  const { night, state } = await refusingMarket({
    balance_sheet: [403, "page"],
    cash_flow: [403, { detail: "no" }],
    metrics: [404, "page"],
    shares: [404, { code: "NO_ROUTE", message: "no" }],
  });
  const tables = [...STATEMENT_NAMES];
  const first = await night("key", ALL);
  expect([first.status, first.requested, first.report.notOffered]).toEqual(["partial", tables, []]);
  expect(first.report.failures).toMatchObject(
    tables.filter((name) => name !== "income").map((dataset) => ({ dataset, symbols: 2 })),
  );
  state.refused = {};
  const second = await night("key", ALL);
  expect([second.status, second.requested, second.report.notOffered]).toEqual(["complete", tables, []]);
});

test("tables that the service lacks end alone, after few requests and without a pause", async () => {
  const lacking = { balance_sheet: [404, "page"], cash_flow: [404, { detail: "Not Found" }] } as const;
  const { night, clock } = await refusingMarket(lacking);
  const tables: StatementName[] = ["balance_sheet", "cash_flow", "income"];
  const pipeline = definePipeline({ name: "financials", kind: "statements", tables });
  for (let nights = 0; nights < 2; nights++) {
    const slept = clock.slept.length;
    const { status, requested, report } = await night("key", pipeline, MANY);
    const of = (table: string): number => requested.filter((one) => one === table).length;
    expect([status, of("income")]).toEqual(["partial", 12]);
    for (const table of Object.keys(lacking)) {
      expect(of(table)).toBeGreaterThanOrEqual(5);
      expect(of(table)).toBeLessThan(10);
      expect(report.stopped).toMatch(
        new RegExp(`${table}: \\d requests were refused and none was answered, the last with: `),
      );
    }
    expect(report.notOffered).toEqual([]);
    expect(new Set(report.failures.map(({ dataset }) => dataset))).toEqual(new Set(Object.keys(lacking)));
    expect(clock.slept.slice(slept).filter((ms) => ms > 1000)).toEqual([]);
  }
});

test("a table that was offered before and is refused with 404 ends alone", async () => {
  const { night, state } = await refusingMarket({});
  await night();
  state.refused = { metrics: [404, UNKNOWN] };
  const { status, requested, report } = await night("key", PIPELINE, MANY);
  expect([status, requested.filter((one) => one === "shares").length]).toEqual(["partial", 12]);
  expect(report.notOffered).toEqual([]);
});

test("a table of which everything was set aside was offered: its refusal is a failure", async () => {
  const { night, state } = await refusingMarket({});
  state.records = [{ ...RECORD, period_end: 5 }];
  expect((await night()).status).toBe("partial");
  state.records = [RECORD];
  state.refused = { metrics: [403, PERMISSION] };
  const refused = await night();
  expect([refused.status, refused.report.notOffered]).toEqual(["partial", []]);
  state.refused = {};
  expect(await night()).toMatchObject({ status: "complete", requested: [...TABLES] });
});

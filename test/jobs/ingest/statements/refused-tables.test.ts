import { expect, test } from "vitest";
import { definePipeline } from "../../../../src/jobs/pipeline/definition.js";
import { runPipeline } from "../../../../src/jobs/run/run-pipeline.js";
import { openLimitsStore } from "../../../../src/lake/requests/service-limits.js";
import { STATEMENT_NAMES, type StatementName } from "../../../../src/schema/statements.js";
import { html, json, type Seen } from "../../../faults/service/scripted-service.js";
import { scriptedMarket } from "../../scripted-market.js";

const DAY = 86_400_000;
const SYMBOLS = ["600000.SH", "600001.SH"];
/** Symbols of 24 requests for a table, which are more than the failures after which a run stops. */
const MANY = Array.from({ length: 2400 }, (_, n) => `${600_000 + n}.SH`);
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
    refusesLater?: [table: string, refusal: Refusal];
    records: unknown[];
  } = {
    refused,
    records: [RECORD],
  };
  const parts = await scriptedMarket((seen, response) => {
    const refusal = state.refused[tableOf(seen)];
    if (refusal !== undefined) {
      const [status, body] = refusal;
      return typeof body === "string" ? html(response, status) : json(response, status, body);
    }
    const [table, [status, body] = [0, {}]] = state.refusesLater ?? [];
    if (table === tableOf(seen) && service.seen.filter((one) => tableOf(one) === table).length > 1)
      return json(response, status, body);
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

test.each<Refusal>([
  [403, PERMISSION],
  [404, UNKNOWN],
])(
  "a %i after responses of the same table is a failure, and the next run requests the rest",
  async (...refusal) => {
    const { night, state } = await refusingMarket({});
    const many = Array.from({ length: 1000 }, (_, n) => `${600_000 + n}.SH`);
    const income = definePipeline({ name: "financials", kind: "statements", tables: ["income"] });
    state.refusesLater = ["income", refusal];
    const first = await night("key", income, many);
    expect(first.status).toBe("partial");
    expect(first.report.notOffered).toEqual([]);
    expect(first.report.failures.length).toBeGreaterThan(0);
    delete state.refusesLater;
    const second = await night("key", income, many);
    expect([second.status, second.report.notOffered]).toEqual(["complete", []]);
    expect(second.report.symbols.find(({ dataset }) => dataset === "income")?.missing).toEqual([]);
  },
);

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

test.each([
  [403, PERMISSION],
  [404, UNKNOWN],
] as const)(
  "where every table is refused with %i, the run is refused, and the next one asks again",
  async (status, body) => {
    const { night, state } = await refusingMarket(
      Object.fromEntries(TABLES.map((name) => [name, [status, body]])),
    );
    const first = await night();
    expect([first.status, first.requested]).toEqual(["refused", [...TABLES]]);
    expect(first.report.failures).toHaveLength(TABLES.length);
    expect(first.report.notOffered).toEqual([]);
    state.refused = {};
    expect(await night()).toMatchObject({ status: "complete", requested: [...TABLES] });
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

test.each<[string, Refusal]>([
  ["a 403 with the page of a proxy", [403, "page"]],
  ["a 403 with a code that is about no permission of a plan", [403, { code: "FORBIDDEN", message: "no" }]],
  ["a 403 with another body", [403, { detail: "no" }]],
  ["a 404 with the page of a proxy", [404, "page"]],
  ["a 404 with a code that the interface does not have", [404, { code: "NO_ROUTE", message: "no" }]],
])("%s is a failure that passes: the next run requests the table again", async (_, refusal) => {
  const { night, state } = await refusingMarket({ metrics: refusal });
  const first = await night();
  expect([first.status, first.requested, first.report.notOffered]).toEqual(["partial", [...TABLES], []]);
  expect(first.report.failures).toMatchObject([{ dataset: "metrics", symbols: 2 }]);
  state.refused = {};
  const second = await night();
  expect([second.status, second.requested, second.report.notOffered]).toEqual(["complete", [...TABLES], []]);
});

test.each<[string, Refusal]>([
  ["the page of a proxy", [404, "page"]],
  ["the body of a web framework", [404, { detail: "Not Found" }]],
  ["a code that the interface does not have", [404, { code: "NO_ROUTE", message: "no" }]],
])(
  "a table that the service lacks, with %s, ends alone, after few requests and without a pause",
  async (_, refusal) => {
    const { night, clock } = await refusingMarket({ metrics: refusal });
    for (let nights = 0; nights < 2; nights++) {
      const slept = clock.slept.length;
      const { status, requested, report } = await night("key", PIPELINE, MANY);
      const of = (table: string): number => requested.filter((one) => one === table).length;
      expect([status, of("income"), of("shares")]).toEqual(["partial", 24, 24]);
      expect(of("metrics")).toBeGreaterThanOrEqual(5);
      expect(of("metrics")).toBeLessThan(10);
      expect(report.notOffered).toEqual([]);
      expect(report.stopped).toMatch(
        /^metrics: \d requests were refused and none was answered, the last with: /,
      );
      expect(new Set(report.failures.map(({ dataset }) => dataset))).toEqual(new Set(["metrics"]));
      expect(clock.slept.slice(slept).filter((ms) => ms > 1000)).toEqual([]);
    }
  },
);

test("a table that was offered before and is refused with 404 ends alone", async () => {
  const { night, state } = await refusingMarket({});
  await night("key", PIPELINE, MANY);
  state.refused = { metrics: [404, UNKNOWN] };
  const { status, requested, report } = await night("key", PIPELINE, MANY);
  expect([status, requested.filter((one) => one === "shares").length]).toEqual(["partial", 24]);
  expect(report.notOffered).toEqual([]);
  state.refused = {};
  expect((await night("key", PIPELINE, MANY)).status).toBe("complete");
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

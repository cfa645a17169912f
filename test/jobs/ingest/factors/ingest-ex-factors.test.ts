import { rmSync } from "node:fs";
import { expect, test } from "vitest";
import { parseTradingDate } from "../../../../src/core/time.js";
import { Session } from "../../../../src/db/session/session.js";
import { parquetRelation } from "../../../../src/db/views/parquet-relation.js";
import type { RecordsNote } from "../../../../src/jobs/ingest/landing-records.js";
import { repairLake } from "../../../../src/jobs/maintenance/repair-lake.js";
import { definePipeline } from "../../../../src/jobs/pipeline/definition.js";
import { planPipeline, runPipeline } from "../../../../src/jobs/run/run-pipeline.js";
import { ResponseSpool } from "../../../../src/lake/requests/response-spool.js";
import { openLimitsStore } from "../../../../src/lake/requests/service-limits.js";
import { instantOf } from "../../../../src/market/zone.js";
import { EX_FACTORS } from "../../../../src/schema/actions.js";
import { REQUESTS } from "../../../../src/schema/runs.js";
import { TABLES } from "../../../../src/schema/tables.js";
import { html, json, type Script } from "../../../faults/service/scripted-service.js";
import { barsOn, scriptedMarket } from "../../scripted-market.js";

const DAY = 86_400_000;
const PATH = "/v1/klines/ex-factors";
/** Enough for three requests. */
const SYMBOLS = Array.from({ length: 250 }, (_, n) => `${600_000 + n}.SH`);
const [A, B] = ["600000.SH", "600001.SH"];
const DEFINITION = {
  name: "daily",
  kind: "bars",
  period: "1d",
  from: "2023-01-01",
  lookback: "3d",
  exFactors: true,
} as const;
const DAILY = definePipeline(DEFINITION);

const at = (date: string): number => instantOf(parseTradingDate(date), "Asia/Shanghai");
/** The weekdays of the winter, as trading days. */
const DAYS = Array.from({ length: 72 }, (_, n) => at("2023-11-26") + n * DAY).filter(
  (ms) => ![0, 6].includes(new Date(ms + DAY / 2).getUTCDay()),
);

type Event = readonly [date: string, factor: number];

/** A service with factors of ex-events; `night` runs the pipeline after a day of trading. */
async function factorMarket(events: Record<string, Event[]>, special: Script = () => {}) {
  const state = { events, special };
  const parts = await scriptedMarket((seen, response) => {
    if (seen.path !== PATH) return json(response, 200, { data: barsOn(DAYS, seen) });
    state.special(seen, response, 0);
    if (response.headersSent) return;
    const [start, end] = [Number(seen.query.get("start_time")), Number(seen.query.get("end_time"))];
    const symbols = (seen.query.get("symbols") ?? "").split(",");
    const factorsOf = (symbol: string): object[] =>
      (state.events[symbol] ?? [])
        .map(([date, ex_factor]) => ({ timestamp: at(date), ex_factor }))
        .filter(({ timestamp }) => timestamp >= start && timestamp <= end);
    json(response, 200, { data: Object.fromEntries(symbols.map((one) => [one, factorsOf(one)])) });
  }, "2024-01-09T12:00:00Z");
  const { clock, lake, client, service } = parts;
  const limitsOf = () => openLimitsStore(lake.storage, { host: "service", keyId: "key" }, clock);
  const plan = async (symbols = SYMBOLS) =>
    (await planPipeline(DAILY, { symbols }, { lake, clock, limits: await limitsOf() }))?.filter(
      ({ dataset }) => dataset === "ex_factors",
    );
  const night = async (symbols = SYMBOLS, pipeline = DAILY) => {
    clock.advance(DAY);
    const before = service.seen.length;
    const limits = await limitsOf();
    const planned = await plan(symbols);
    const report = await runPipeline(pipeline, { symbols }, { lake, client, clock, limits });
    await limits.saved();
    const requests = service.seen.slice(before).filter(({ path }) => path === PATH);
    return { report, status: report.status, requests, planned: planned?.length };
  };
  const rows = async () => {
    using session = await Session.open(lake.access);
    return await session.json(
      `SELECT symbol, ex_date::VARCHAR AS day, source, factor, first_seen_at::DATE::VARCHAR AS seen
       FROM (${await parquetRelation(session, lake.filesOf(await lake.snapshot(EX_FACTORS)))}) ORDER BY ALL`,
    );
  };
  const ledger = async () => {
    using session = await Session.open(lake.access);
    return await session.json(
      `SELECT status, len(symbols)::INTEGER AS symbols, rows::INTEGER AS rows, reason
       FROM (${await parquetRelation(session, lake.filesOf(await lake.snapshot(REQUESTS)))})
       WHERE dataset = 'ex_factors' ORDER BY asked_at, request_id`,
    );
  };
  return { ...parts, state, plan, night, rows, ledger };
}

test("factors land once with the bars, and each night asks for the new days only", async () => {
  const { night, rows, plan, ledger, state } = await factorMarket({ [A]: [["2023-12-01", 1.05]] });
  const first = await night();
  expect([first.status, first.requests.length, first.planned]).toEqual(["complete", 3, 3]);
  expect(first.requests[0]?.query.get("start_time")).toBe(String(at("2023-01-01")));
  // 2024-01-10 is final in the evening.
  expect(first.requests[0]?.query.get("end_time")).toBe(String(at("2024-01-11") - 1));
  expect(await rows()).toEqual([
    { symbol: A, day: "2023-12-01", source: "service", factor: 1.05, seen: "2024-01-10" },
  ]);
  expect(await ledger()).toEqual([
    { status: "answered", symbols: 100, rows: 1, reason: null },
    { status: "empty", symbols: 100, rows: 0, reason: null },
    { status: "empty", symbols: 50, rows: 0, reason: null },
  ]);
  expect(await plan()).toEqual([]);

  state.events = { [A]: [["2023-12-01", 1.05]], [B]: [["2024-01-11", 2]] };
  const second = await night();
  expect([second.status, second.requests.length, second.planned]).toEqual(["complete", 3, 3]);
  // With the sessions of the lookback: the eleventh and the two before it.
  expect(second.requests[0]?.query.get("start_time")).toBe(String(at("2024-01-09")));
  expect(await rows()).toHaveLength(2);
  expect(await plan()).toEqual([]);
});

test("a factor that the service corrects replaces the one before, and keeps when it was first seen", async () => {
  const { night, rows, state } = await factorMarket({ [A]: [["2024-01-10", 1.05]] });
  await night();
  state.events = { [A]: [["2024-01-10", 1.06]] };
  await night();
  expect(await rows()).toEqual([
    { symbol: A, day: "2024-01-10", source: "service", factor: 1.06, seen: "2024-01-10" },
  ]);
});

test("without the option nothing is asked for", async () => {
  const { night } = await factorMarket({});
  const without = definePipeline({ ...DEFINITION, exFactors: false });
  expect((await night([A], without)).requests).toEqual([]);
});

test.each([
  ["another server", 404, "<html>"],
  [
    "another server that takes the path for a symbol's",
    400,
    { code: "INVALID_PARAMETER", message: "symbol ex-factors" },
  ],
  ["a plan", 403, { code: "NO_EX_FACTORS_PERMISSION", message: "your plan lacks it" }],
] as const)(
  "a service without factors (%s) is asked once, and the run is complete",
  async (name, status, body) => {
    const { night, clock, ledger, plan } = await factorMarket({}, (_seen, response) =>
      typeof body === "string" ? html(response, status) : json(response, status, body),
    );
    const first = await night();
    expect([first.status, first.requests.length]).toEqual(["complete", 1]);
    expect(first.report.failures).toEqual([]);
    expect(first.report.notOffered).toMatchObject([
      { dataset: "ex_factors", reason: expect.stringContaining(String(status)) },
    ]);
    expect(await ledger()).toMatchObject([{ status: "refused", symbols: 100 }]);
    expect(await plan()).toEqual([]);
    if (name !== "a plan") return;
    const second = await night();
    expect([second.status, second.requests.length, second.report.notOffered]).toEqual(["complete", 0, []]);
    clock.advance(6 * DAY);
    expect((await night()).requests).toHaveLength(1);
  },
);

test("a page instead of factors fails nothing where the service never had any, and is asked for by the next run", async () => {
  const market = await factorMarket({}, (_seen, response) => html(response, 200));
  for (const _ of [1, 2]) {
    const { status, report, requests } = await market.night();
    expect([status, requests.length]).toEqual(["complete", 1]);
    expect(report.notOffered).toMatchObject([{ dataset: "ex_factors" }]);
  }
  market.state.special = () => {};
  expect(await market.night()).toMatchObject({ status: "complete", requests: { length: 3 } });
});

test("a request that fails later makes the run partial, and the next run asks for it again", async () => {
  const { night, state } = await factorMarket({ [A]: [["2023-12-01", 1.05]] });
  await night();
  state.special = (seen, response) =>
    seen.query.get("symbols")?.startsWith(A) && json(response, 500, { code: "INTERNAL", message: "broken" });
  expect(await night()).toMatchObject({ status: "partial", report: { failures: [{ symbols: 100 }] } });
  state.special = () => {};
  const { status, requests } = await night();
  expect([status, requests.length]).toEqual(["complete", 3]);
  expect(Number(requests[0]?.query.get("start_time"))).toBeLessThanOrEqual(at("2024-01-11"));
});

test("a service that permits fewer symbols gets smaller requests, and bars are asked for as before", async () => {
  const { night, rows, service } = await factorMarket({ [A]: [["2023-12-01", 1.05]] }, (seen, response) => {
    const symbols = (seen.query.get("symbols") ?? "").split(",").length;
    if (symbols > 50)
      json(response, 400, { code: "INVALID_PARAMETER", message: "too many symbols: at most 50" });
  });
  const first = await night();
  expect([first.status, first.requests.length]).toEqual(["complete", 1 + 2 + 4]);
  expect(await rows()).toHaveLength(1);
  const second = await night();
  expect([second.status, second.requests.length]).toEqual(["complete", 5]);
  const ofBars = service.seen.filter(({ path }) => path !== PATH);
  expect(Math.max(...ofBars.map(({ query }) => query.get("symbols")?.split(",").length ?? 0))).toBe(100);
});

test("factors that break a rule are set aside with their symbol, which is asked for again", async () => {
  const { night, rows, state, ledger, clock } = await factorMarket({
    [A]: [
      ["2023-12-01", 1.05],
      ["2023-12-04", 0],
    ],
    [B]: [["2023-12-05", 1.5]],
  });
  const { report } = await night([A, B]);
  expect(report.rejected).toMatchObject([{ rule: "out_of_range" }]);
  expect(await rows()).toMatchObject([{ symbol: B }]);
  expect(await ledger()).toMatchObject([{ symbols: 1 }, { symbols: 1, reason: "set_aside" }]);
  expect((await night([A, B])).status).toBe("partial");
  // The third request waits for most of a day, and the runs until then say so.
  clock.advance(3_600_000 - DAY);
  expect(await night([A, B])).toMatchObject({
    status: "partial",
    requests: [],
    report: {
      failures: [
        { reason: `earlier runs have set aside factors of ${A}; they are requested again after a wait` },
      ],
    },
  });
  state.events = { [A]: [["2023-12-01", 1.05]], [B]: [["2023-12-05", 1.5]] };
  expect((await night([A, B])).status).toBe("complete");
  expect(await rows()).toMatchObject([{ symbol: A }, { symbol: B }]);
});

test("two factors of one date are set aside, one that comes twice is not", async () => {
  const { night, rows } = await factorMarket({
    [A]: [
      ["2023-12-01", 1.05],
      ["2023-12-01", 1.06],
    ],
    [B]: [
      ["2023-12-05", 1.5],
      ["2023-12-05", 1.5],
    ],
  });
  expect((await night([A, B])).report.rejected).toMatchObject([{ rule: "duplicate_key" }]);
  expect(await rows()).toMatchObject([{ symbol: B, factor: 1.5 }]);
});

test("an empty map is no proof that there are no factors, but one of days that are asked for again is", async () => {
  const market = await factorMarket({ [A]: [["2023-12-01", 1.05]] }, (_seen, response) =>
    json(response, 200, { data: {} }),
  );
  await market.night([A]);
  expect(await market.ledger()).toMatchObject([{ status: "empty", symbols: 1, reason: "unexplained" }]);
  market.state.special = () => {};
  await market.night([A]);
  expect(await market.rows()).toMatchObject([{ symbol: A }]);
  market.state.special = (_seen, response) => json(response, 200, { data: {} });
  const { status } = await market.night([A]);
  expect([status, await market.plan([A])]).toEqual(["complete", []]);
});

test("what a killed run had received lands, apart from days of which a later response came", async () => {
  const { night, rows, lake, clock } = await factorMarket({ [A]: [["2024-01-10", 1.1]] });
  const late = definePipeline({ ...DEFINITION, from: "2024-01-09" });
  await night([A], late);
  const askedAt = clock.now() - DAY;
  const window = { start: at("2023-01-01"), end: at("2024-01-11") };
  const rowOf = (ex_date: string) => ({ symbol: A, ex_date, source: "service", factor: 9, region: "CN" });
  const dead = "20240109T000000Z-dead00";
  const store = ResponseSpool.of(lake, dead);
  const note: RecordsNote = {
    dataset: "ex_factors",
    columns: EX_FACTORS.columns.filter(({ name }) => name !== "first_seen_at"),
    rows: [rowOf("2023-12-01"), rowOf("2024-01-10")],
    entry: {
      records: [
        {
          runId: dead,
          pipeline: "daily",
          requestId: "000001",
          dataset: "ex_factors",
          endpoint: `GET ${PATH}`,
          symbols: [A],
          window,
          askedAt,
          finalEnd: window.end,
          status: "answered",
          attempts: 1,
          rows: 2,
          rejected: 0,
          bytes: 1,
          durationMs: 1,
          absent: [],
        },
      ],
      issues: [],
    },
  };
  await store.store("000001", note);
  await store.close();
  const { status, requests } = await night([A]);
  expect([status, requests.map(({ query }) => query.get("start_time"))]).toEqual([
    "complete",
    [String(at("2024-01-09"))],
  ]);
  expect(await rows()).toMatchObject([
    { day: "2023-12-01", factor: 9 },
    { day: "2024-01-10", factor: 1.1 },
  ]);
});

test("factors of a lost file are requested again after a repair", async () => {
  const { night, rows, lake, clock, plan } = await factorMarket({ [A]: [["2023-12-01", 1.05]] });
  await night([A, B]);
  const snapshot = await lake.snapshot(EX_FACTORS);
  for (const file of snapshot.files.values()) rmSync(lake.urlOf(snapshot, file));
  clock.advance(1000);
  await repairLake(lake, TABLES, { runId: "repair" }, clock);
  expect(await rows()).toEqual([]);
  clock.advance(1000);
  // The log says which symbols the file had.
  expect(await plan([A, B])).toMatchObject([{ symbols: [A] }]);
  await night([A, B]);
  expect(await rows()).toMatchObject([{ symbol: A }]);
});

import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { unvouchedCloses } from "../../../../src/db/market/unvouched-closes.js";
import { Session } from "../../../../src/db/session/session.js";
import { landEarlierAbsences, landRequests, type RequestRecord } from "../../../../src/jobs/ledger/ledger.js";
import type { PipelineDefinition } from "../../../../src/jobs/pipeline/definition.js";
import type { RunReport } from "../../../../src/jobs/run/run-pipeline.js";
import { Lake } from "../../../../src/lake/lake.js";
import { stageObjects } from "../../../../src/lake/land/clear-values.js";
import { Rejects } from "../../../../src/lake/land/rejects.js";
import { upsert } from "../../../../src/lake/land/upsert.js";
import { openReader } from "../../../../src/lake/open-reader.js";
import { BARS_1D } from "../../../../src/schema/bars.js";
import { INSTRUMENTS } from "../../../../src/schema/reference.js";
import { json, type Script, type Seen } from "../../../faults/service/scripted-service.js";
import { land, queryLake } from "../../../lake/temporary-lake.js";
import { weekdays } from "../../minute-market.js";
import { type Bars, barsOn, scriptedMarket } from "../../scripted-market.js";

const [INDEX, STOCK] = ["000001.SH", "600519.SH"];
const SYMBOLS = [INDEX, STOCK];
const DAYS = weekdays("2024-01-08", "2024-02-08");
const DAILY: PipelineDefinition = { name: "daily", kind: "bars", period: "1d", from: "2024-01-08" };
const [SUSPENDED, BACK] = [weekdays("2024-01-17", "2024-01-26"), Date.parse("2024-01-26T00:00:00+08:00")];
const RESTATED = { day: "2024-01-26", factor: 2 };

/** The bars of a stock that is suspended for seven sessions, and then worth the half: its previous close is restated. */
function market(seen: Seen): Record<string, Bars> {
  const data = barsOn(DAYS, seen);
  const own = data[STOCK];
  if (own === undefined) return data;
  const of = (days: readonly number[], close: number, stated: number): Bars => {
    const values = (value: number): number[] => days.map(() => value);
    const prices = { open: values(close), high: values(close), low: values(close), close: values(close) };
    const prev_close = days.map((day) => (day === BACK ? stated : close));
    return { timestamp: [...days], ...prices, volume: values(100), amount: values(close * 1e4), prev_close };
  };
  const days = (own.timestamp as number[]).filter((day) => !SUSPENDED.includes(day));
  const parts = [
    of(
      days.filter((day) => day < BACK),
      10,
      10,
    ),
    of(
      days.filter((day) => day >= BACK),
      5,
      5,
    ),
  ];
  if (days.length === 0) delete data[STOCK];
  else
    data[STOCK] = Object.fromEntries(
      Object.keys(parts[0] as Bars).map((name) => [name, parts.flatMap((part) => part[name] as number[])]),
    );
  return data;
}

const right: Script = (seen, response) => json(response, 200, { data: market(seen) });

async function marketAt(start: string, script: Script = right, lake?: Lake) {
  const parts = await scriptedMarket(script, start, lake);
  const daily = (
    options: { from?: string; to?: string; symbols?: string[]; lookbackDays?: number } = {},
  ): Promise<RunReport> => {
    parts.clock.advance(1000);
    return parts.run(DAILY, { symbols: SYMBOLS, ...options });
  };
  const events = () =>
    queryLake(parts.lake, "SELECT ex_date::VARCHAR AS day, factor FROM ex_events ORDER BY symbol, day");
  const absences = () =>
    queryLake(
      parts.lake,
      `SELECT symbol, first_date::VARCHAR AS first, last_date::VARCHAR AS last FROM raw.absences_1d ORDER BY symbol, first_date`,
    );
  return { ...parts, daily, events, absences };
}

async function warnedOf(lake: Lake) {
  const { session } = await openReader(lake, { threads: 1 });
  using reader = session;
  return await unvouchedCloses(reader);
}

/** The record that the bars of a file were lost. */
const LOST: RequestRecord = {
  runId: "repair",
  pipeline: "repair",
  requestId: "bars_1d-0",
  dataset: "bars_1d",
  endpoint: "repair",
  symbols: [STOCK],
  askedAt: 0,
  status: "lost",
  attempts: 0,
  rows: 0,
  rejected: 0,
  bytes: 0,
  durationMs: 0,
  absent: [],
};

const SUSPENSION = { symbol: STOCK, first: "2024-01-17", last: "2024-01-25" };

test("one response with a suspension in it: its sessions are known to have no bar, and the event after it stands", async () => {
  const { daily, events, absences } = await marketAt("2024-02-08T00:00:00Z");
  expect(await daily()).toMatchObject({ status: "complete" });
  expect(await absences()).toEqual([SUSPENSION]);
  expect(await events()).toEqual([RESTATED]);
});

test("a run each night: the nights of a suspension are one stretch, and the event after it stands", async () => {
  const { clock, daily, events, absences } = await marketAt("2024-01-22T12:00:00Z");
  for (let night = 0; night < 6; night++) {
    await daily();
    clock.advance(86_400_000 - 1000);
  }
  expect(await absences()).toEqual([SUSPENSION]);
  expect(await events()).toEqual([RESTATED]);
});

test("days that nobody asked for are a hole: no event, and an audit names it, until they are requested", async () => {
  const { daily, events, absences, lake } = await marketAt("2024-02-08T00:00:00Z");
  await daily({ symbols: [INDEX] });
  await daily({ symbols: [STOCK], from: "2024-01-08", to: "2024-01-20" });
  await daily({ symbols: [STOCK], from: "2024-01-26", to: "2024-02-08" });
  expect(await events()).toEqual([]);
  expect(await absences()).toEqual([{ ...SUSPENSION, last: "2024-01-19" }]);
  const unvouched =
    "SELECT symbol, trade_date::VARCHAR AS day, last_date::VARCHAR AS last FROM restated_closes WHERE has_hole";
  expect(await queryLake(lake, unvouched)).toEqual([
    { symbol: STOCK, day: "2024-01-26", last: "2024-01-16" },
  ]);
  expect(await warnedOf(lake)).toEqual({
    closes: 1,
    symbols: [STOCK],
    examples: [{ symbol: STOCK, date: "2024-01-26", last: "2024-01-16" }],
  });
  await daily();
  expect(await events()).toEqual([RESTATED]);
  expect(await absences()).toEqual([SUSPENSION]);
  expect(await warnedOf(lake)).toMatchObject({ closes: 0 });
});

test("a bar that was set aside is no suspension: its day is a hole until it comes", async () => {
  const day = Date.parse("2024-01-31T00:00:00+08:00");
  // The bar of this day is missing between bars of another price.
  const spoiled: Script = (seen, response) => {
    const data = market(seen);
    const own = data[STOCK];
    const at = own?.timestamp?.indexOf(day) ?? -1;
    if (own !== undefined && at >= 0) {
      (own.high as number[])[at] = 1;
      const next = at + 1;
      if (next < (own.close as number[]).length) (own.prev_close as number[])[next] = 8;
    }
    json(response, 200, { data });
  };
  const { daily, events, absences, service } = await marketAt("2024-02-08T00:00:00Z", spoiled);
  expect(await daily()).toMatchObject({ status: "partial" });
  expect(await absences()).toEqual([SUSPENSION]);
  expect(await events()).toEqual([RESTATED]);
  service.script = right;
  await daily();
  // What the next bar states is an event once its bar before is known.
  expect(await events()).toEqual([RESTATED, { day: "2024-02-01", factor: 5 / 8 }]);
});

test("a lake of an earlier version: its ledger shows what was asked for", async () => {
  const { clock, daily, lake, events } = await marketAt("2024-01-23T12:00:00Z");
  for (let night = 0; night < 4; night++) {
    await daily();
    clock.advance(86_400_000 - 1000);
  }
  clock.advance(12 * 86_400_000);
  await daily();
  expect(await events()).toEqual([RESTATED]);
  rmSync(join(lake.location, "absences_1d"), { recursive: true });
  const later = await marketAt(
    "2024-02-14T12:00:00Z",
    right,
    new Lake(lake.location, { hasDatabase: false }),
  );
  expect(await later.events()).toEqual([]);
  await later.daily();
  expect(await later.absences()).toEqual([SUSPENSION]);
  expect(await later.events()).toEqual([RESTATED]);
});

test("a bar without a price and without a volume says that there was no trade", async () => {
  const idle: Script = (seen, response) => {
    const data = market(seen);
    const days = DAYS.filter((day) => data[INDEX]?.timestamp?.includes(day) && SUSPENDED.includes(day));
    const own = data[STOCK];
    if (own !== undefined)
      for (const [name, values] of Object.entries(own)) {
        const times = own.timestamp as number[];
        const at = times.filter((day) => day < (days[0] as number)).length;
        if (name !== "timestamp") values.splice(at, 0, ...days.map(() => 0));
      }
    own?.timestamp?.splice(own.timestamp.filter((day) => day < (days[0] as number)).length, 0, ...days);
    json(response, 200, { data });
  };
  const { daily, events, absences } = await marketAt("2024-02-08T00:00:00Z", idle);
  expect(await daily()).toMatchObject({ status: "complete" });
  expect(await absences()).toEqual([SUSPENSION]);
  expect(await events()).toEqual([RESTATED]);
});

test("a bar without a price of a day under way says nothing yet", async () => {
  const today = Date.parse("2024-01-16T00:00:00+08:00");
  const early: Script = (seen, response) => {
    const own = market(seen)[STOCK] as Bars;
    const at = (own.timestamp as number[]).indexOf(today);
    for (const [name, values] of Object.entries(own)) if (at >= 0 && name !== "timestamp") values[at] = 0;
    json(response, 200, { data: { ...market(seen), [STOCK]: own } });
  };
  const { daily, absences } = await marketAt("2024-01-16T01:45:00Z", early);
  await daily();
  expect(await absences()).toEqual([]);
});

test("a bar that comes later is no longer absent, and one of another source shows that the service lacks that time", async () => {
  const late = Date.parse("2024-01-24T00:00:00+08:00");
  const { clock, daily, events, absences, lake, service } = await marketAt("2024-02-07T00:00:00Z");
  await daily();
  expect(await absences()).toEqual([SUSPENSION]);
  // The service has the bar of a day in the middle now.
  service.script = (seen, response) => {
    const data = market(seen);
    const own = data[STOCK];
    const [start, end] = [Number(seen.query.get("start_time")), Number(seen.query.get("end_time"))];
    if (own !== undefined && start <= late && late <= end) {
      const at = (own.timestamp as number[]).filter((day) => day < late).length;
      for (const [name, values] of Object.entries(own))
        values.splice(at, 0, name === "timestamp" ? late : name === "volume" ? 100 : 10);
    }
    json(response, 200, { data });
  };
  clock.advance(13 * 3_600_000);
  await daily({ lookbackDays: 20 });
  expect(await absences()).toEqual([
    { ...SUSPENSION, last: "2024-01-23" },
    { ...SUSPENSION, first: "2024-01-25" },
  ]);
  expect(await events()).toEqual([RESTATED]);
  // A file has a bar of a day of which the service had none.
  using session = await Session.open({ threads: 1 });
  const rejects = new Rejects(session, "test");
  await land(session, lake, BARS_1D, [{ symbol: STOCK, at: "2024-01-19T00:00:00+08:00", close: 10 }], {
    rejects,
  });
  expect(await queryLake(lake, "SELECT trade_date::VARCHAR AS day, has_hole FROM restated_closes")).toEqual([
    { day: "2024-01-26", has_hole: false },
  ]);
});

test("imported bars in a time that the service lacks: the first bar of the service is no event", async () => {
  const { daily, events, lake } = await marketAt("2024-02-08T00:00:00Z", (seen, response) => {
    const data = structuredClone(barsOn(DAYS, seen));
    const own = structuredClone(data[STOCK]);
    if (own !== undefined) {
      data[STOCK] = own;
      const from = (own.timestamp as number[]).filter((day) => day < BACK).length;
      for (const values of Object.values(own)) values.splice(0, from);
      own.prev_close = (own.timestamp as number[]).map(() => 10);
    }
    json(response, 200, { data });
  });
  using session = await Session.open({ threads: 1 });
  const rejects = new Rejects(session, "test");
  const imported = ["2024-01-09", "2024-01-10", "2024-01-11"].map((day) => ({
    symbol: STOCK,
    at: `${day}T00:00:00+08:00`,
    close: 20,
  }));
  await land(session, lake, BARS_1D, imported, { rejects });
  await daily();
  expect(await events()).toEqual([]);
  expect(await warnedOf(lake)).toMatchObject({ closes: 1, symbols: [STOCK] });
});

test("a ledger of an earlier version does not vouch for bars that were lost, nor for the time before a listing", async () => {
  const { daily, lake } = await marketAt("2024-02-08T00:00:00Z");
  await daily();
  using session = await Session.open({ threads: 1 });
  const options = { operation: "TEST", runId: "test", now: Date.parse("2024-02-08T01:00:00Z") };
  const day = Date.parse("2024-01-24T00:00:00+08:00");
  const lost = { ...LOST, window: { start: day, end: day + 86_400_000 }, askedAt: options.now };
  await landRequests(session, lake, [lost], options);
  const known = { valid_from: 0, symbol: STOCK, code: "600519", exchange: "SH", region: "CN", type: "stock" };
  await stageObjects(session, "listed", INSTRUMENTS.columns, [
    { ...known, ext_type: "cn_equity", name: "", listing_date: "2024-01-19" },
  ]);
  await upsert(session, lake, INSTRUMENTS, "listed", options);
  rmSync(join(lake.location, "absences_1d"), { recursive: true });
  const old = new Lake(lake.location, { hasDatabase: false });
  await landEarlierAbsences(session, old, options);
  expect(
    await queryLake(
      old,
      "SELECT first_date::VARCHAR AS first, last_date::VARCHAR AS last FROM raw.absences_1d ORDER BY first_date",
    ),
  ).toEqual([
    { first: "2024-01-19", last: "2024-01-23" },
    { first: "2024-01-25", last: "2024-01-25" },
  ]);
});

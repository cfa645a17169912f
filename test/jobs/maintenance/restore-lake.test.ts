import { expect, test } from "vitest";
import { Session } from "../../../src/db/session/session.js";
import { restoreLake } from "../../../src/jobs/maintenance/restore-lake.js";
import type { PipelineDefinition } from "../../../src/jobs/pipeline/definition.js";
import { Lake } from "../../../src/lake/lake.js";
import { landTradingDays } from "../../../src/lake/land/trading-days.js";
import { publish } from "../../../src/lake/publish.js";
import { takeRun } from "../../../src/lake/requests/run-lease.js";
import { BARS_1D, BARS_1M, TRADING_DAYS } from "../../../src/schema/bars.js";
import { REQUESTS, RUNS } from "../../../src/schema/runs.js";
import { json } from "../../faults/service/scripted-service.js";
import { land, openSession, queryLake, T0, temporaryLake } from "../../lake/temporary-lake.js";
import { newestBars, weekdays } from "../minute-market.js";
import { filledMarket } from "../scripted-market.js";

const DAILY: PipelineDefinition = { name: "daily", kind: "bars", period: "1d", from: "2024-01-01" };
const DAYS = weekdays("2024-01-01", "2024-03-02");
const DAY = 86_400_000;
const SYMBOLS = ["600519.SH", "000001.SH"];

/** A lake with the bars of one symbol, and two of it after a second run a day later. */
async function ranTwice() {
  const market = { "600519.SH": DAYS, "000001.SH": DAYS };
  const parts = await filledMarket(
    (seen, response) => json(response, 200, { data: newestBars(seen, market) }),
    "2024-03-02T12:00:00Z",
    { filledBy: import.meta.url, name: "first run" },
    (run) => run(DAILY, { symbols: ["600519.SH"] }),
  );
  const { lake, clock, run, service } = parts;
  await clock.sleep(DAY);
  const between = clock.now();
  await clock.sleep(DAY);
  await run(DAILY, { symbols: SYMBOLS });
  const asked = service.seen.length;
  const content = async (at: Lake = lake): Promise<unknown[]> =>
    Promise.all(
      [BARS_1D, TRADING_DAYS].map(({ name, key }) =>
        queryLake(at, `SELECT ${key.join(", ")} FROM raw.${name} ORDER BY ALL`),
      ),
    );
  return { ...parts, between, asked, content };
}

test("of the whole lake the ledger is restored as well: the next run asks again, with the same result", async () => {
  const { lake, clock, run, between, service, asked, content } = await ranTwice();
  const before = await content();
  const planned = await restoreLake(lake, { kind: "time", asOf: between }, { dryRun: true, clock });
  expect(await content()).toEqual(before);
  const done = await restoreLake(lake, { kind: "time", asOf: between }, { clock });
  expect(done.errors).toEqual([]);
  expect(done.related.changes).toEqual([]);
  expect(done.reports.map((report) => ({ ...report, version: undefined, restoredAt: undefined }))).toEqual(
    planned.reports,
  );
  const changed = done.reports.filter(({ version }) => version !== undefined).map(({ table }) => table);
  expect(changed).toEqual(["requests", "bars_1d", "trading_days", "absences_1d", "runs"]);
  expect(await content()).not.toEqual(before);
  const again = await restoreLake(lake, { kind: "time", asOf: between }, { clock });
  expect(again.reports.every(({ version }) => version === undefined)).toBe(true);
  const report = await run(DAILY, { symbols: SYMBOLS });
  expect(report).toMatchObject({ status: "complete", requests: { sent: asked } });
  expect(service.seen).toHaveLength(2 * asked);
  expect(await content()).toEqual(before);
});

test("of a table alone, what else the runs have changed is named, with the time that undoes it, too", async () => {
  const { lake, clock, run, between, content } = await ranTwice();
  const tables = [BARS_1D];
  const { version } = await lake.snapshotAt(BARS_1D, { asOf: between });
  const done = await restoreLake(lake, { kind: "version", version }, { tables, clock });
  expect(done.related.changes.map(({ table }) => table)).toEqual([
    "trading_days",
    "absences_1d",
    "requests",
    "runs",
  ]);
  // The ledger has the responses, so nothing is requested.
  expect(await run(DAILY, { symbols: SYMBOLS })).toMatchObject({ requests: { sent: 0 } });
  const { asOf = 0 } = done.related;
  expect(asOf).toBeGreaterThanOrEqual(between);
  await restoreLake(lake, { kind: "time", asOf }, { clock });
  const { lake: first } = await filledMarket(
    () => {},
    "2024-03-02T12:00:00Z",
    { filledBy: import.meta.url, name: "first run" },
    () => Promise.resolve(),
  );
  expect(await content()).toEqual(await content(first));
});

test("while a run is working on the lake nothing is restored, and a dry run shows all", async () => {
  const { lake, clock, between, content } = await ranTwice();
  const before = await content();
  const subject = { runId: "working", pipeline: "daily", asks: [BARS_1D.name], tables: [BARS_1D.name] };
  const lease = await takeRun(lake, subject, { clock });
  try {
    const target = { kind: "time", asOf: between } as const;
    await expect(restoreLake(lake, target, { clock })).rejects.toThrow(/run working is working on it/);
    expect(await content()).toEqual(before);
    expect((await restoreLake(lake, target, { clock, dryRun: true })).reports.length).toBeGreaterThan(3);
  } finally {
    await lease.release();
  }
});

test("a restore that was killed between tables is completed by the same call, the ledger first", async () => {
  const { lake, clock, between, content } = await ranTwice();
  const target = { kind: "time", asOf: between } as const;
  const dying = new Lake(lake.location, { hasDatabase: false });
  const putIfAbsent = dying.storage.putIfAbsent.bind(dying.storage);
  let commits = 0;
  Object.assign(dying.storage, {
    putIfAbsent(...args: Parameters<typeof putIfAbsent>) {
      return commits++ < 1 ? putIfAbsent(...args) : Promise.reject(new Error("killed"));
    },
  });
  const { reports, errors } = await restoreLake(dying, target, { clock });
  expect(reports.filter(({ version }) => version !== undefined).map(({ table }) => table)).toEqual([
    "requests",
  ]);
  expect(errors.length).toBeGreaterThan(0);
  const done = await restoreLake(new Lake(lake.location, { hasDatabase: false }), target, { clock });
  expect(done.errors).toEqual([]);
  const rest = done.reports.filter(({ version }) => version !== undefined).map(({ table }) => table);
  expect(rest).toEqual(["bars_1d", "trading_days", "absences_1d", "runs"]);
  for (const table of [BARS_1D, TRADING_DAYS, REQUESTS, RUNS]) {
    const then = await lake.snapshotAt(table, { asOf: between });
    expect([...(await lake.snapshot(table)).files.keys()].sort()).toEqual([...then.files.keys()].sort());
  }
  expect(await content()).toHaveLength(2);
});

test("where the ledger gets responses back, it is the last table", async () => {
  const { lake, clock, between, content } = await ranTwice();
  const before = await content();
  const full = clock.now();
  await clock.sleep(1000);
  await restoreLake(lake, { kind: "time", asOf: between }, { clock });
  await clock.sleep(1000);
  const back = await restoreLake(lake, { kind: "time", asOf: full }, { clock });
  expect(back.reports.filter(({ version }) => version !== undefined).at(-1)?.table).toBe("requests");
  expect(await content()).toEqual(before);
});

test("a table that cannot be restored stops the restore before any table is changed", async () => {
  const { lake, clock, between } = await ranTwice();
  const then = await lake.snapshotAt(BARS_1D, { asOf: between });
  const now = await lake.snapshot(BARS_1D);
  // The first run's file is live in both, so that the ledger's is taken away.
  const ledger = await lake.snapshotAt(REQUESTS, { asOf: between });
  expect([then.files.size, now.files.size]).toEqual([1, 2]);
  const session = await openSession();
  const { optimize } = await import("../../../src/lake/maintenance/optimize.js");
  await optimize(session, lake, REQUESTS, { runId: "test" }, clock);
  for (const path of ledger.files.keys()) await lake.storage.delete(`requests/${path}`);
  const target = { kind: "time", asOf: between } as const;
  await expect(restoreLake(lake, target, { clock })).rejects.toThrow(
    /^table requests: version \d+ cannot be restored/,
  );
  expect((await new Lake(lake.location).snapshot(BARS_1D)).version).toBe(now.version);
});

test("a table that did not exist at the time becomes empty, and lake.duckdb shows what was restored", async () => {
  const [lake, session] = [temporaryLake({ hasDatabase: true }), await openSession()];
  await land(session, lake, BARS_1D, [{ at: "2026-11-18T16:00:00Z", close: 10 }], { now: T0 });
  await landTradingDays(session, lake, { operation: "TEST", runId: "test", now: T0 });
  const later = { now: T0 + DAY };
  await land(session, lake, BARS_1M, [{ at: "2026-11-19T02:00:00Z" }], later);
  await land(session, lake, BARS_1D, [{ at: "2026-11-18T16:00:00Z", close: 11 }], later);
  await publish(lake);
  const seen = async (): Promise<unknown> => {
    using client = await Session.open({ path: lake.databaseFile, readOnly: true, threads: 1 });
    const [row] = await client.json(
      "SELECT (SELECT count(*) FROM bars_1m)::INT AS minutes, (SELECT list(close) FROM bars_1d) AS closes",
    );
    return row;
  };
  expect(await seen()).toEqual({ minutes: 1, closes: [11] });
  const { reports } = await restoreLake(lake, { kind: "time", asOf: T0 });
  expect(reports).toMatchObject([
    { table: "bars_1d", to: 0, version: 2 },
    { table: "bars_1m", to: undefined, version: 1, rowsAfter: 0 },
  ]);
  expect(await seen()).toEqual({ minutes: 0, closes: [10] });
});

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { ServiceClient } from "../../../../src/client/service-client.js";
import { MINUTE_MS } from "../../../../src/core/time.js";
import { LandingBars, landResponses } from "../../../../src/jobs/ingest/bars/landing-bars.js";
import { SHARED_GROUP_RESPONSES } from "../../../../src/jobs/ingest/landing-records.js";
import { ledgerSql, type RequestRecord } from "../../../../src/jobs/ledger/ledger.js";
import { RequestSizeLimits } from "../../../../src/jobs/run/request/request-size-limits.js";
import { closeRun, openRun } from "../../../../src/jobs/run/run.js";
import { Rejects } from "../../../../src/lake/land/rejects.js";
import { BARS_1M } from "../../../../src/schema/bars.js";
import { REQUESTS } from "../../../../src/schema/runs.js";
import { type DecodedKlines, decodeKlines } from "../../../../src/wire/decode/decode-klines.js";
import type { KlineColumns } from "../../../../src/wire/kline-columns.js";
import { virtualClock } from "../../../faults/clock/virtual-clock.js";
import { FINAL, openSession, temporaryLake } from "../../../lake/temporary-lake.js";
import { columnsOf } from "../../../wire/any-kline-columns.js";

/** A run on an empty lake, which is not part of a pipeline. */
async function bareRun() {
  const [session, lake, clock] = [await openSession(), temporaryLake(), virtualClock("2026-11-21T00:00:00Z")];
  const client = new ServiceClient({ baseUrl: "http://127.0.0.1:1", apiKey: "key", clock });
  onTestFinished(() => client.close());
  const parts = { lake, session, client, clock, rejects: new Rejects(session, "run"), runId: "run" };
  const run = openRun(
    {
      ...parts,
      pipeline: "minute",
      tables: [BARS_1M],
      signal: new AbortController().signal,
      limits: new RequestSizeLimits(),
      freeBytes: async () => Number.MAX_SAFE_INTEGER,
    },
    () => {},
  );
  return { lake, run };
}

const START = Date.parse("2026-01-05T01:31:00Z");
const BAR = { timestamp: START, volume: 1n, open: 10, high: 10, low: 10, close: 10, amount: 10 };
const ENTRY = { records: [], issues: [] };

/** The ledger's record of that response. */
const RECORD: RequestRecord = {
  runId: "run",
  pipeline: "minute",
  requestId: "000001",
  dataset: BARS_1M.name,
  endpoint: "GET /klines",
  symbols: ["600519.SH"],
  window: { start: START, end: START + MINUTE_MS },
  finalEnd: START,
  askedAt: START,
  status: "answered",
  httpStatus: 200,
  attempts: 1,
  rows: 1,
  rejected: 0,
  bytes: 100,
  durationMs: 1,
  absent: [],
};

/** A response with one bar. */
async function oneBar() {
  const response = await decodeKlines(
    [
      Buffer.from(
        JSON.stringify({
          data: {
            "600519.SH": Object.fromEntries(
              Object.entries(BAR).map(([name, value]) => [name, [Number(value)]]),
            ),
          },
        }),
      ),
    ],
    { shape: "map" },
  );
  return { value: { response }, requestId: "000001", source: "run/000001", entry: ENTRY };
}

test("a group of responses may have any number of broken bars", async () => {
  const { lake, run } = await bareRun();
  const bars = Array.from({ length: 130_000 }, (_, i) => ({
    ...BAR,
    timestamp: START + i * MINUTE_MS,
    high: 9,
  }));
  const columns = columnsOf({ "600519.SH": bars });
  await landResponses(run, BARS_1M, [{ columns, source: "run/1", entry: ENTRY }], FINAL);
  expect(await run.context.rejects.save(lake)).toMatchObject([{ rule: "high_below_low", rows: 130_000 }]);
  await closeRun(run);
});

test("a response that cannot be stored is an error that names the place", async () => {
  const { lake, run } = await bareRun();
  mkdirSync(lake.location, { recursive: true });
  writeFileSync(join(lake.location, "spool"), "a file where a folder should be");
  const taken = await new LandingBars(run, BARS_1M).take(await oneBar()).catch((one: unknown) => one);
  expect(taken).toMatchObject({
    name: "LakeError",
    message: expect.stringContaining("/spool could not be written"),
  });
  rmSync(join(lake.location, "spool"));
  await closeRun(run);
});

test("a group that cannot be landed is an error, also of what follows", async () => {
  const { lake, run } = await bareRun();
  const landing = new LandingBars(run, BARS_1M);
  await landing.take(await oneBar());
  writeFileSync(join(lake.location, BARS_1M.name), "a file where a table should be");
  const ended = await landing.finish().catch((one: unknown) => one);
  expect(ended).toMatchObject({
    name: "LakeError",
    message: expect.stringContaining(BARS_1M.name),
  });
  // What is taken later is not landed, and its error is the same.
  await expect(landing.finish()).rejects.toBe(ended);
  await closeRun(run);
});

test("when all groups have landed, the ledger has them, and their responses are gone", async () => {
  const { lake, run } = await bareRun();
  const landing = new LandingBars(run, BARS_1M);
  const entry = { ...ENTRY, records: [RECORD] };
  await landing.take({ ...(await oneBar()), entry });
  await landing.finish();
  const { session } = run.context;
  expect(await session.json(`SELECT request_id FROM (${await ledgerSql(session, lake)})`)).toEqual([
    { request_id: "000001" },
  ]);
  expect(await run.responses.ids()).toEqual([]);
  await closeRun(run);
});

test("a group that the ledger cannot get: its bars have landed, and its response remains for the next run", async () => {
  const { lake, run } = await bareRun();
  const landing = new LandingBars(run, BARS_1M);
  mkdirSync(lake.location, { recursive: true });
  writeFileSync(join(lake.location, REQUESTS.name), "a file where a table should be");
  await landing.take({ ...(await oneBar()), entry: { ...ENTRY, records: [RECORD] } });
  await expect(landing.finish()).rejects.toThrow(REQUESTS.name);
  expect((await lake.snapshot(BARS_1M)).version).toBe(0);
  expect(await run.responses.ids()).toEqual(["000001"]);
  // What comes later is stored, and not landed.
  const next = landing.take({ ...(await oneBar()), requestId: "000002" });
  await expect(next).rejects.toThrow(REQUESTS.name);
  await expect(landing.finish()).rejects.toThrow(REQUESTS.name);
  expect(await run.responses.ids()).toEqual(["000001", "000002"]);
  await closeRun(run);
});

/** A run whose ledger gets nothing before the gate opens; it lands 16 responses at a time. */
async function gatedRun() {
  const { lake, run } = await bareRun();
  Object.defineProperty(lake, "isShared", { value: true });
  let open = (): void => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const prepare = run.ledger.prepare.bind(run.ledger);
  run.ledger.prepare = async () => {
    const landEntries = await prepare();
    return async () => {
      await gate;
      await landEntries();
    };
  };
  const landing = new LandingBars(run, BARS_1M);
  let taken = 0;
  /** Takes responses with a bar each, all at the same time. */
  const take = (count: number, columns?: KlineColumns): Promise<void>[] =>
    Array.from({ length: count }, () => {
      const requestId = String(++taken).padStart(6, "0");
      const own = columns ?? columnsOf({ "600519.SH": [{ ...BAR, timestamp: START + taken * MINUTE_MS }] });
      const value = {
        response: { columns: own, issues: [], [Symbol.dispose]() {} } as unknown as DecodedKlines,
      };
      const entry = { records: [{ ...RECORD, requestId }], issues: [] };
      return landing.take({ value, requestId, source: `run/${requestId}`, entry });
    });
  const recorded = async (): Promise<number> => {
    const { session } = run.context;
    return (await session.json(`SELECT request_id FROM (${await ledgerSql(session, lake)})`)).length;
  };
  const landed = (version: number): Promise<void> =>
    vi.waitFor(async () => expect((await lake.snapshot(BARS_1M)).version).toBe(version), { timeout: 30_000 });
  return { run, landing, take, recorded, landed, open };
}

test("where the bars of a group fail, the groups before it get into the ledger before the landing ends", async () => {
  const { run, landing, take, recorded, landed, open } = await gatedRun();
  await Promise.all(take(SHARED_GROUP_RESPONSES));
  await landed(0);
  const backwards = columnsOf({ "600519.SH": [BAR, { ...BAR, timestamp: START - MINUTE_MS }] });
  const second = take(SHARED_GROUP_RESPONSES, backwards);
  for (const one of second) one.catch(() => {});
  await vi.waitFor(async () => expect(await run.responses.ids()).toHaveLength(2 * SHARED_GROUP_RESPONSES), {
    timeout: 30_000,
  });
  let hasEnded = false;
  const end = landing.finish().finally(() => {
    hasEnded = true;
  });
  end.catch(() => {});
  for (let turn = 0; turn < 100; turn++) await setImmediate();
  expect(hasEnded).toBe(false);
  open();
  await expect(end).rejects.toThrow(TypeError);
  expect(await recorded()).toBe(SHARED_GROUP_RESPONSES);
  // Those of the group that failed remain for the next run.
  expect(await run.responses.ids()).toHaveLength(SHARED_GROUP_RESPONSES);
  await closeRun(run);
});

test("the bars of a group land while the ledger gets the group before; no more than two groups wait for the ledger", async () => {
  const { run, landing, take, recorded, landed, open } = await gatedRun();
  await Promise.all(take(SHARED_GROUP_RESPONSES));
  await Promise.all(take(SHARED_GROUP_RESPONSES - 1));
  let isTaken = false;
  const [last] = take(1).map((one) =>
    one.finally(() => {
      isTaken = true;
    }),
  );
  await landed(1);
  for (let turn = 0; turn < 100; turn++) await setImmediate();
  expect(isTaken).toBe(false);
  expect(await run.responses.ids()).toHaveLength(2 * SHARED_GROUP_RESPONSES);
  open();
  await last;
  await landing.finish();
  expect(await recorded()).toBe(2 * SHARED_GROUP_RESPONSES);
  expect(await run.responses.ids()).toEqual([]);
  await closeRun(run);
});

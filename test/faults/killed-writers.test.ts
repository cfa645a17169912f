import { cpSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { DAY_MS } from "../../src/core/time.js";
import type { Session } from "../../src/db/session/session.js";
import { parquetRelation } from "../../src/db/views/parquet-relation.js";
import { landRequests } from "../../src/jobs/ledger/ledger.js";
import { MOST_LANDED_FILES } from "../../src/jobs/maintenance/optimize-lake.js";
import { scrubLake } from "../../src/jobs/maintenance/scrub-lake.js";
import { Lake } from "../../src/lake/lake.js";
import { landedFiles } from "../../src/lake/maintenance/optimize.js";
import { vacuum } from "../../src/lake/maintenance/vacuum.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { REQUESTS } from "../../src/schema/runs.js";
import {
  anyDelivery,
  type Content,
  contentOf,
  landed,
  type ModelBar,
  newestContent,
  timeOf,
} from "../lake/bar-model.js";
import { land, openSession, temporaryLake } from "../lake/temporary-lake.js";
import { SEED } from "../setup.js";
import { cases, pickCases } from "../sweep.js";
import { type Kill, type LakeWorker, type Order, startLakeWorker } from "./lake-worker.js";

const KILLS = cases({ few: 2, all: 300 });
/** Number of lakes that are used in parallel. */
const LANES = 2;

/** The work, and when its process dies: at a call of its storage or work folder, or after a number of milliseconds. */
interface Round {
  readonly kind: Order["kind"];
  readonly delivery: readonly ModelBar[];
  readonly targetBytes: number;
  readonly kill: Kill | number;
}

const anyRound: fc.Arbitrary<Round> = fc.record({
  kind: fc.constantFrom("land", "land", "land", "land", "optimize", "optimize", "vacuum", "checkpoint"),
  delivery: anyDelivery,
  targetBytes: fc.constantFrom(6000, 20_000, 1e9),
  kill: fc.oneof(
    { weight: 3, arbitrary: fc.record({ call: fc.nat(12), isDone: fc.boolean() }) },
    { weight: 1, arbitrary: fc.nat(80) },
  ),
});

test(`a lake outlives ${KILLS} kills of its writers: nothing is lost, nothing doubled, and the next run completes`, async () => {
  const kills = await Promise.all(
    Array.from({ length: LANES }, (_, lane) => outlive(lane, Math.ceil(KILLS / LANES))),
  );
  expect(kills.reduce((sum, n) => sum + n, 0)).toBeGreaterThanOrEqual(KILLS);
});

async function outlive(lane: number, expected: number): Promise<number> {
  const [session, { location: folder }] = [await openSession(), temporaryLake()];
  const rounds = fc.sample(anyRound, { seed: SEED + lane, numRuns: 20 * expected });
  let content: Content = new Map();
  let kills = 0;
  let worker = await startLakeWorker();
  let next = startLakeWorker();
  for (const [index, round] of rounds.entries()) {
    if (kills >= expected) break;
    const order = orderOf(round, `lane-${lane}/${index}`);
    const after = round.kind === "land" ? landed(content, round.delivery).content : content;
    if (await isKilled(worker, folder, order, round.kill)) {
      kills++;
      expect([content, after]).toContainEqual(await newestContent(session, new Lake(folder)));
      worker = await next;
      next = startLakeWorker();
      // The next process does what was not finished; what was committed is not done again.
      expect(await worker.perform({ ...order, folder })).toBeDefined();
    }
    content = after;
    expect(await newestContent(session, new Lake(folder))).toEqual(content);
  }
  for (const one of [worker, await next]) one.close();
  await checkLeftovers(session, folder, content);
  return kills;
}

function orderOf({ kind, delivery, targetBytes }: Round, response: string): Order {
  if (kind === "optimize") return { kind, targetBytes };
  if (kind !== "land") return { kind };
  const bars = delivery.map((bar) => ({ symbol: bar.symbol, at: timeOf(bar), close: bar.close }));
  return { kind, bars, responses: [response] };
}

async function isKilled(
  worker: LakeWorker,
  folder: string,
  order: Order,
  kill: Kill | number,
): Promise<boolean> {
  if (typeof kill !== "number") return (await worker.perform({ ...order, folder, kill })) === undefined;
  let isSent = false;
  const timer = setTimeout(() => {
    isSent = true;
    worker.kill();
  }, kill);
  const done = await worker.perform({ ...order, folder });
  clearTimeout(timer);
  return isSent || done === undefined;
}

/** The files left by killed processes are collected in time, and every retained version can be read. */
async function checkLeftovers(session: Session, folder: string, content: Content): Promise<void> {
  const lake = new Lake(folder);
  const inTwoDays = Date.now() + 2 * 86_400_000;
  await vacuum(lake, BARS_1D, { retentionMs: 0, now: inTwoDays });
  const snapshot = await lake.snapshot(BARS_1D);
  const stored = await lake.storage.walk(BARS_1D.name);
  expect(stored.filter(({ path }) => path.endsWith(".parquet") && !path.startsWith("_"))).toHaveLength(
    snapshot.files.size,
  );
  expect(await contentOf(session, lake, snapshot)).toEqual(content);
  expect(await contentOf(session, lake, await lake.wholeSnapshot(BARS_1D))).toEqual(content);
}

/** Calls of the storage and the work folder; the compaction of two tables makes some more. */
const CALLS = 60;
const PICKED = pickCases(CALLS, cases({ few: 1, all: CALLS }), [8]);

test("a process that is killed while it compacts after a run loses nothing, and the next one goes on", async () => {
  const [session, original] = [await openSession(), temporaryLake()];
  for (let n = 0; n <= MOST_LANDED_FILES; n++) {
    const at = Date.parse("2024-03-04T16:00:00Z") + n * DAY_MS;
    await land(session, original, BARS_1D, [{ at }]);
    const record = { ...ANSWERED, requestId: String(n), askedAt: at };
    await landRequests(session, original, [record], { operation: "INGEST", runId: "run", now: at });
  }
  const rowsOf = async (lake: Lake): Promise<readonly unknown[]> => {
    const tables = await Promise.all([BARS_1D, REQUESTS].map((table) => lake.snapshot(table)));
    const rows: unknown[] = [];
    for (const one of tables) {
      const relation = await parquetRelation(session, lake.filesOf(one));
      rows.push(await session.json(`SELECT * FROM (${relation}) ORDER BY ALL`));
    }
    return rows;
  };
  const rows = await rowsOf(original);
  const next = await startLakeWorker();
  let kills = 0;
  for (const call of PICKED) {
    const { location: folder } = temporaryLake();
    cpSync(original.location, folder, { recursive: true });
    const worker = await startLakeWorker();
    const isDone = call % 2 === 0;
    const order = { kind: "compact", folder } as const;
    if ((await worker.perform({ ...order, kill: { call, isDone } })) === undefined) kills++;
    expect(await rowsOf(new Lake(folder))).toEqual(rows);
    await next.perform(order);
    const lake = new Lake(folder);
    expect(await rowsOf(lake)).toEqual(rows);
    for (const table of [BARS_1D, REQUESTS])
      expect(landedFiles(await lake.snapshot(table))).toBeLessThanOrEqual(MOST_LANDED_FILES);
    const { damaged } = await scrubLake(lake, {}, { now: () => Date.now() + 60 * DAY_MS });
    expect(damaged).toEqual([]);
  }
  next.close();
  expect(kills).toBe(PICKED.length);
});

const ANSWERED = {
  runId: "run",
  pipeline: "daily",
  dataset: "bars_1d",
  endpoint: "GET /v1/klines/batch",
  symbols: ["600519.SH"],
  status: "answered",
  attempts: 1,
  rows: 1,
  rejected: 0,
  bytes: 100,
  durationMs: 5,
  absent: [],
} as const;

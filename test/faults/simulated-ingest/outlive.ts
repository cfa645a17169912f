import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Session } from "../../../src/db/session/session.js";
import { Lake } from "../../../src/lake/lake.js";
import { readChronicle } from "./chronicle.js";
import { scheduleOf, startOf } from "./fault-schedule.js";
import { stateBars } from "./findings/bar-findings.js";
import { lakeFindings, strayFiles } from "./findings/lake-findings.js";
import { requestFindings } from "./findings/request-findings.js";
import { TrueMarket } from "./upstream/true-market.js";
import type { WorkerPool } from "./worker-pool.js";

/** The result of a schedule. */
export interface Outlived {
  readonly seed: number;
  readonly lives: number;
  readonly kills: number;
  /** The outcomes and their numbers: of requests, of bars, and of another engine's operations. */
  readonly met: ReadonlyMap<string, number>;
  /** The errors; empty if there are none. */
  readonly findings: readonly string[];
}

/**
 * Runs the schedule of a seed, life after life, each in a process that may be killed, and compares the result with the
 * truth.
 *
 * @param folder an empty folder; it is deleted if nothing was found.
 */
export async function outlive(
  seed: number,
  {
    folder,
    pool,
    session,
  }: { readonly folder: string; readonly pool: WorkerPool; readonly session: Session },
): Promise<Outlived> {
  const schedule = scheduleOf(seed);
  const market = new TrueMarket(schedule.market);
  const lake = (): Lake => new Lake(join(folder, "lake"));
  await mkdir(folder, { recursive: true });
  await stateBars({ session, lake: lake(), market, schedule });
  const findings: string[] = [];
  const met = new Map<string, number>();
  const count = (what: string, times: number): void => {
    if (times > 0) met.set(what, (met.get(what) ?? 0) + times);
  };
  let [kills, before] = [0, schedule.start];
  let stray: ReadonlySet<string> = new Set();
  for (const [life] of schedule.lives.entries()) {
    const start = startOf(schedule, life, before);
    const isKilled = await lived(pool, { folder, seed, life, start });
    before = readChronicle(join(folder, "chronicle.ndjson")).at(-1)?.at ?? start;
    const left = await strayFiles(lake());
    if (isKilled) kills++;
    else {
      // The other engine leaves the file of a commit that it has lost.
      const more = [...left].filter((file) => !stray.has(file) && !/\/part-[^/]*$/.test(file));
      if (more.length > 0) findings.push(`life ${life} was not killed, and left ${more.join(", ")}`);
    }
    stray = left;
    const isLast = life === schedule.lives.length - 1;
    const events = readChronicle(join(folder, "chronicle.ndjson"));
    const state = { session, lake: lake(), market, schedule, now: before, isLast, events, met: count };
    const found = await lakeFindings(state);
    findings.push(...found.map((finding) => `after life ${life}: ${finding}`));
  }
  const events = readChronicle(join(folder, "chronicle.ndjson"));
  findings.push(...requestFindings(schedule, events));
  for (const event of events) {
    if (event.kind === "asked") count(`request: ${event.outcome}`, 1);
    if (event.kind === "foreign")
      count(`another engine ${event.isDuring ? "during" : "between"} runs: ${event.act}`, 1);
  }
  if (findings.length === 0) await rm(folder, { recursive: true, force: true });
  return { seed, lives: schedule.lives.length, kills, met, findings };
}

/** Runs one life. @returns whether it was killed. */
async function lived(
  pool: WorkerPool,
  order: { readonly folder: string; readonly seed: number; readonly life: number; readonly start: number },
): Promise<boolean> {
  const worker = await pool.take();
  try {
    const done = await worker.perform(order);
    if (done !== undefined) pool.give(worker);
    return done === undefined;
  } catch (error) {
    worker.kill();
    throw error;
  }
}

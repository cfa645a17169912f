import { join } from "node:path";
import { Session } from "../../../../src/db/session/session.js";
import { SHARED_GROUP_RESPONSES } from "../../../../src/jobs/ingest/landing-records.js";
import { CONCURRENCY } from "../../../../src/jobs/run/request/request-sender.js";
import { Lake } from "../../../../src/lake/lake.js";
import { openReader } from "../../../../src/lake/open-reader.js";
import { RENEW_MS } from "../../../../src/lease/own-leases.js";
import { DAILY, DAYS, MINUTES } from "./market-of-machines.js";
import type { MadeCommit } from "./shared-lake.js";
import type { Received } from "./shared-service.js";
import type { FaultKind, Loss } from "./virtual-process.js";

/** A response on the disk of a machine. */
export interface Spooled {
  readonly machine: string;
  readonly table: string;
  readonly symbols: string;
  /** Start of the window, epoch milliseconds. */
  readonly start: number;
  /** When it was there, by the clock of the simulation. */
  readonly time: number;
}

/** A run that has begun: it reads the ledger after `time`. */
export interface StartedRun {
  readonly process: string;
  readonly pipeline: string;
  /** By the clock of the simulation. */
  readonly time: number;
}

/** What happened in a simulation; times by its clock. */
export interface Simulated {
  readonly folder: string;
  readonly commits: readonly MadeCommit[];
  readonly received: readonly Received[];
  readonly spooled: readonly Spooled[];
  readonly losses: readonly Loss[];
  /** In the order of their times. */
  readonly started: readonly StartedRun[];
  readonly symbols: readonly string[];
  readonly rpm: number;
  /** When there is work, and no fault. */
  readonly calm: { readonly from: number; readonly to: number };
  readonly isDone: boolean;
}

export interface Findings {
  /** The errors; empty if there are none. */
  readonly findings: readonly string[];
  readonly requests: number;
  readonly refused: number;
  /** Requests that were repeated, by the kind of the fault that explains them. */
  readonly repeated: Readonly<Partial<Record<FaultKind, number>>>;
  readonly faults: Readonly<Partial<Record<FaultKind, number>>>;
  /** The part of the quota that was used without a fault; undefined where that was too short. */
  readonly used: number | undefined;
}

const MINUTE_MS = 60_000;
/** A lease that was silent for so long is no longer relied on. */
const VALID_MS = 50_000;
/** A schedule leads for so long without a renewal. */
const LEAD_VALID_MS = 20_000;
/** The machines have divided the key again so long after the last fault. */
const SETTLE_MS = 130_000;
/** A request follows the one a minute before it after this time: it also needs time to arrive. */
const PERIOD_MS = MINUTE_MS + 1500;
const LEAST_PERIODS = 2;
/** What a lost run may lose: requests in flight, and responses that had not landed. */
const MOST_LOST = 2 * SHARED_GROUP_RESPONSES + CONCURRENCY;

const keyOf = (table: string, symbols: string, start: number): string => `${table} ${symbols} ${start}`;
const pipelineOf = (period: string): string => (period === DAILY.period ? DAILY.name : MINUTES.name);
const tableOf = (period: string): string => (period === DAILY.period ? DAILY.table : MINUTES.table);

/** Compares what happened with what is promised. */
export async function judge(simulated: Simulated): Promise<Findings> {
  const { received, losses, isDone, rpm, calm } = simulated;
  const findings = isDone ? [] : ["the schedules did not end"];
  const refused = received.filter(({ isRefused }) => isRefused);
  for (const { process, time } of refused) findings.push(`${process.name} was refused at ${iso(time)}`);
  const repeated: Partial<Record<FaultKind, number>> = {};
  const byLoss = new Map<Loss, number>();
  for (const { reason, loss } of explainRepeats(simulated, await landedAt(simulated))) {
    if (loss === undefined) findings.push(reason);
    else byLoss.set(loss, (byLoss.get(loss) ?? 0) + 1);
  }
  for (const [loss, count] of byLoss) {
    repeated[loss.kind] = (repeated[loss.kind] ?? 0) + count;
    const most = loss.kind === "cut from service" ? CONCURRENCY : MOST_LOST;
    if (count > most) findings.push(`${loss.kind} of ${loss.process}: ${count} requests repeated`);
  }
  findings.push(...(await contentFindings(simulated)));
  const used = usedPart(received, rpm, {
    from: calm.from + SETTLE_MS,
    to: Math.min(calm.to, lastWork(received)) - MINUTE_MS,
  });
  if (used !== undefined && used < 0.95) findings.push(`only ${used} of the quota was used`);
  const faults: Partial<Record<FaultKind, number>> = {};
  for (const { kind } of losses) faults[kind] = (faults[kind] ?? 0) + 1;
  return { findings, requests: received.length, refused: refused.length, repeated, faults, used };
}

/**
 * The part of the quota that was used in whole periods, from the first request in a time on: each request that the quota
 * permits is in each period at least once. Undefined where the time is too short.
 */
function usedPart(
  received: readonly Received[],
  rpm: number,
  { from, to }: { readonly from: number; readonly to: number },
): number | undefined {
  const times = received.filter((one) => !one.isRefused && one.time >= from).map(({ time }) => time);
  const start = Math.min(...times);
  const periods = Math.floor((to - start) / PERIOD_MS);
  if (!(periods >= LEAST_PERIODS)) return undefined;
  return times.filter((time) => time < start + periods * PERIOD_MS).length / (rpm * periods);
}

/** When the pipeline that needed fewer requests sent its last one. In the minute before, it had no work for its whole part. */
function lastWork(received: readonly Received[]): number {
  const last = new Map<string, number>();
  for (const { period, time } of received) last.set(period, Math.max(time, last.get(period) ?? time));
  return Math.min(...last.values());
}

interface Explained {
  readonly reason: string;
  readonly loss: Loss | undefined;
}

/** Explains each request that was made before by the loss that permits it. */
function explainRepeats(
  { received, losses, spooled, started }: Simulated,
  landed: ReadonlyMap<string, number>,
): Explained[] {
  const explained: Explained[] = [];
  const askedBefore = new Map<string, Received[]>();
  for (const again of received) {
    if (again.isRefused) continue;
    const table = tableOf(again.period);
    const key = keyOf(table, again.symbols, again.start);
    const earlier = askedBefore.get(key) ?? [];
    askedBefore.set(key, [...earlier, again]);
    const what = `${key}, asked by ${again.process.name} at ${iso(again.time)}`;
    if (!landed.has(key)) explained.push({ reason: `${what}: is not in the ledger`, loss: undefined });
    const before = earlier.at(-1);
    if (before === undefined) continue;
    const by = `had been asked by ${before.process.name} at ${iso(before.time)}`;
    // A request was in flight when its response landed only where it was sent by a process that had lost its run.
    const sentAt = again.time - 1000;
    const landedFrom = landed.get(key) ?? 0;
    // A run reads the ledger when it begins: it does not see what another machine lands of its spool after that.
    const run = started.findLast(
      (one) =>
        one.process === again.process.name &&
        one.pipeline === pipelineOf(again.period) &&
        one.time <= again.time,
    );
    const isLanded = landedFrom < Math.min(sentAt, run?.time ?? sentAt);
    const onDisk = spooled.find(
      (one) =>
        one.time < sentAt &&
        one.machine === again.process.machine &&
        keyOf(one.table, one.symbols, one.start) === key,
    );
    const loss = losses.find(
      (one) =>
        one.process === before.process.name &&
        one.since <= again.time &&
        noticedAt(one) >= before.time - 1000 &&
        isEnough(one, before),
    );
    if (isLanded)
      explained.push({ reason: `${what}: ${by}, and had landed at ${iso(landedFrom)}`, loss: undefined });
    else if (onDisk !== undefined)
      explained.push({ reason: `${what}: ${by}, and was on this machine's disk`, loss: undefined });
    else explained.push({ reason: `${what}: ${by}, who had lost nothing`, loss });
  }
  return explained;
}

/**
 * Until when a process may send requests that it then loses. One that was cut off from the store finds with its next
 * renewals that another machine leads, or has its part of the key; its run ends with the requests that are in flight.
 */
function noticedAt({ kind, until }: Loss): number {
  return kind === "cut from store" ? until + RENEW_MS : until;
}

/** Whether a loss explains that a request is repeated. */
function isEnough({ kind, ms }: Loss, { wasDelivered }: Received): boolean {
  if (kind === "cut from service") return !wasDelivered;
  return kind === "kill" || ms > Math.min(VALID_MS, LEAD_VALID_MS);
}

/** When each request was in the ledger. */
async function landedAt({ folder, commits }: Simulated): Promise<Map<string, number>> {
  const landed = new Map<string, number>();
  using session = await Session.open({ threads: 1 });
  for (const { table, time, files } of commits) {
    if (table !== "requests" || files.length === 0) continue;
    const rows = await session.json<{ dataset: string; symbols: string; start: number }>(
      `SELECT dataset, array_to_string(symbols, ',') AS symbols, epoch_ms(window_start)::DOUBLE AS start
       FROM read_parquet([${files.map((file) => `'${join(folder, file)}'`).join(", ")}])
       WHERE status = 'answered' AND window_start IS NOT NULL`,
    );
    for (const row of rows) {
      const key = keyOf(row.dataset, row.symbols, row.start);
      if (!landed.has(key)) landed.set(key, time);
    }
  }
  return landed;
}

async function contentFindings({ folder, symbols }: Simulated): Promise<string[]> {
  const findings: string[] = [];
  for (const { table, bars } of [DAILY, MINUTES]) {
    const statement = `SELECT symbol, count(*)::DOUBLE AS bars, count(DISTINCT timestamp)::DOUBLE AS "different" FROM ${table} GROUP BY symbol`;
    const { session } = await openReader(new Lake(folder), { threads: 1, statement });
    const rows = await session.json<{ symbol: string; bars: number; different: number }>(statement);
    session.close();
    const found = new Map(rows.map((row) => [row.symbol, row]));
    for (const symbol of symbols) {
      const { bars: there = 0, different = 0 } = found.get(symbol) ?? {};
      if (there !== different) findings.push(`${table} of ${symbol}: ${there - different} bars are doubled`);
      if (different !== bars * DAYS.length)
        findings.push(`${table} of ${symbol}: ${different} bars of ${bars * DAYS.length}`);
    }
  }
  return findings;
}

function iso(time: number): string {
  return new Date(time).toISOString();
}

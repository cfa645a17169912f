import type { Ask, ServiceClient } from "../../client/service-client.js";
import { LakeError, messageOf, ServiceError } from "../../core/errors.js";
import { type Clock, ticksOf } from "../../core/time.js";
import type { Session } from "../../db/session.js";
import type { Lake } from "../../lake/lake.js";
import type { ReferenceChange } from "../../lake/land/reference-changes.js";
import { type RejectCount, rejectIssues } from "../../lake/land/rejects.js";
import type { LandOptions, LandReport } from "../../lake/land/upsert.js";
import { expectSpace, type FreeBytes } from "../../lake/local/free-space.js";
import { RequestLeases } from "../../lake/requests/request-leases.js";
import { ResponseSpool } from "../../lake/requests/response-spool.js";
import type { Region } from "../../market/regions.js";
import { finalEnd } from "../../market/sessions.js";
import type { AbsenceReason } from "../../plan/absence/absence.js";
import { KlineBufferPool } from "../../wire/decode/kline-buffers.js";
import type { Endpoint } from "../../wire/endpoints.js";
import { landRequests } from "../ledger/ledger.js";
import { CircuitBreaker } from "./circuit-breaker.js";
import { Completeness } from "./completeness.js";
import type { LearnedLimits } from "./learned-limits.js";
import {
  type Asked,
  type Failure,
  failedRecord,
  isRefusal,
  isServiceFault,
  type LedgerEntry,
  type PendingResponse,
  type Purpose,
  type Received,
  responseRecords,
  type ServiceFault,
  settledRecord,
} from "./request-records.js";
import { type Progress, RunProgress } from "./run-progress.js";
import { SymbolTally } from "./symbol-tally.js";

/** Most requests in flight. */
export const CONCURRENCY = 4;

/** Smaller shifts are ordinary adjustments of the clock, not a set clock. */
const CLOCK_SET_MS = 5000;

/** The parts that a run needs. */
export interface RunParts {
  readonly lake: Lake;
  readonly session: Session;
  readonly client: ServiceClient;
  readonly clock: Clock;
  readonly runId: string;
  readonly pipeline: string;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
  readonly limits: LearnedLimits;
  readonly freeBytes: FreeBytes;
}

/** The state and the tools of one run of a pipeline. It is a class because it has the run's state. */
export class Run {
  readonly lake: Lake;
  readonly session: Session;
  readonly client: ServiceClient;
  readonly clock: Clock;
  readonly runId: string;
  readonly pipeline: string;
  readonly signal: AbortSignal;
  /** Limits that the service has shown. */
  readonly limits: LearnedLimits;
  /** Responses on disk that have not landed yet. */
  readonly responses: ResponseSpool;
  /** Leases of requests that, of all runs on the lake, only this run may send. */
  readonly leases: RequestLeases;
  /** Versions of the ledger that this run has made. */
  readonly ownLedgerVersions = new Set<number>();
  /** Column buffers for K-line responses, used again by later responses. */
  readonly buffers = new KlineBufferPool();
  readonly requests = { sent: 0, answered: 0, empty: 0, refused: 0, failed: 0 };
  readonly landed: LandReport[] = [];
  readonly failures: Failure[] = [];
  readonly symbols = new SymbolTally();
  /** What was requested of each table, and what is absent. */
  readonly completeness = new Completeness();
  readonly progress: RunProgress;
  readonly startedAt: number;
  /** When the run began, on the monotonic clock. */
  readonly #startedTicks: number;
  /**
   * Ends of the final bars when the run began, by region; bars that become final later are requested again by the next
   * run.
   */
  readonly finalEnds: Readonly<Record<Region, number>>;
  rows = 0;
  bytes = 0;
  rejects: RejectCount[] = [];
  /** What the run's snapshots have changed. */
  changes: readonly ReferenceChange[] = [];
  /** Why the run sends no more requests; undefined while it does. */
  stopped: string | undefined;
  /** Aborts once an error ends the run. */
  readonly #failed = new AbortController();
  /** Aborts requests that wait to be sent, no later than {@link signal}. */
  readonly #unsent: AbortSignal;
  readonly #breaker: CircuitBreaker;
  readonly #freeBytes: FreeBytes;
  /** Refused requests that were sent again in another way: they are not failures. */
  healed = 0;
  /** Datasets that the key does not permit, and why. */
  readonly refused = new Map<string, string>();
  #entries: LedgerEntry[] = [];
  #lastRequest = 0;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(parts: RunParts) {
    this.lake = parts.lake;
    this.session = parts.session;
    this.client = parts.client;
    this.clock = parts.clock;
    this.runId = parts.runId;
    this.pipeline = parts.pipeline;
    this.signal = parts.signal;
    this.#unsent = AbortSignal.any([parts.signal, this.#failed.signal]);
    this.limits = parts.limits;
    this.responses = ResponseSpool.of(parts.lake, parts.runId);
    this.leases = new RequestLeases(parts.lake, parts.runId);
    this.#freeBytes = parts.freeBytes;
    this.progress = new RunProgress(parts.onProgress);
    this.#breaker = new CircuitBreaker(parts.clock);
    const now = parts.clock.now();
    this.startedAt = now;
    this.#startedTicks = ticksOf(parts.clock);
    this.finalEnds = { CN: finalEnd("CN", now), HK: finalEnd("HK", now), US: finalEnd("US", now) };
  }

  /** Duration so far in milliseconds; setting the machine's clock does not change it. */
  get elapsedMs(): number {
    return ticksOf(this.clock) - this.#startedTicks;
  }

  /** By how much the machine's clock was set during the run, in milliseconds; undefined: it was not set. */
  get clockShiftMs(): number | undefined {
    const shift = Math.round(this.clock.now() - this.startedAt - this.elapsedMs);
    return Math.abs(shift) >= CLOCK_SET_MS ? shift : undefined;
  }

  /** Options for a landing now. */
  landOptions(): LandOptions {
    return { operation: "INGEST", runId: this.runId, now: this.clock.now() };
  }

  /** Whether no more of a dataset should be requested: interrupted, refused, or repeated failures. */
  isHalted(dataset: string): boolean {
    return this.stopped !== undefined || this.#unsent.aborted || this.refused.has(dataset);
  }

  /** Sends no more requests, because an error ends the run; requests in flight go on. */
  stopSending(): void {
    this.#failed.abort();
  }

  /** Runs work on the session, one after another: a connection takes one statement at a time. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(work);
    this.#queue = result.catch(() => undefined);
    return result;
  }

  /**
   * Sends a request. The response is in the ledger only after {@link enter}, together with its rows; a request that was
   * refused or failed is recorded at once.
   *
   * @param read reads the body of the request with an id.
   * @param heals whether the caller sends a refused request in another way: it is then not a failure.
   * @returns undefined where the request was refused or failed.
   * @throws {LakeError} where the disk has too little space for the response: the run ends, and no paid response is
   *   lost.
   */
  async ask<T extends Received>(
    ask: Ask,
    purpose: Purpose,
    read: (body: AsyncIterable<Uint8Array>, requestId: string) => Promise<T>,
    heals: (error: ServiceError) => boolean = () => false,
  ): Promise<PendingResponse<T> | undefined> {
    await this.#breaker.enter(this.#unsent);
    await this.#expectSpace(purpose.bars ?? 0);
    this.#unsent.throwIfAborted();
    const requestId = this.#nextRequestId();
    const endpoint = `${ask.endpoint.method} ${ask.endpoint.path}`;
    const { runId, pipeline } = this;
    const askedAt = this.clock.now();
    const askedTicks = ticksOf(this.clock);
    const asked: Asked = { runId, pipeline, requestId, endpoint, askedAt, attempts: 0, ...purpose };
    this.requests.sent += 1;
    this.progress.sent(purpose.dataset, () => this.client.quotaOf(ask.endpoint.group));
    let [rows, bytes] = [0, 0];
    try {
      const { value, durationMs } = await this.client.ask(
        ask,
        (body) => read(body, requestId),
        this.signal,
        (attempt) => {
          asked.attempts = attempt;
        },
        this.#unsent,
      );
      this.requests[value.rows === 0 ? "empty" : "answered"] += 1;
      ({ rows, bytes } = value);
      this.rows += rows;
      this.bytes += bytes;
      this.#breaker.succeeded();
      this.symbols.note(purpose.dataset, purpose.symbols, new Set(value.absent));
      const records = responseRecords(asked, value, durationMs);
      return { value, requestId, source: `${runId}/${requestId}`, entry: { records, issues: value.issues } };
    } catch (error) {
      if (this.signal.aborted || !isServiceFault(error)) throw error;
      const durationMs = ticksOf(this.clock) - askedTicks;
      this.#fail(asked, error, durationMs, error instanceof ServiceError && heals(error));
      return undefined;
    } finally {
      this.progress.ended(purpose.dataset, rows, bytes);
    }
  }

  /** Adds a response to the pending ledger entries; the next {@link landLedger} lands it. */
  enter(entry: LedgerEntry): void {
    this.#entries.push(entry);
  }

  /**
   * Records a window without its own request: other responses have shown its result.
   *
   * @param reason why the symbols are absent in it; undefined where they have bars after it.
   */
  enterSettled(
    { endpoint, ...purpose }: Purpose & { readonly endpoint: Endpoint },
    reason?: AbsenceReason,
  ): void {
    const { runId, pipeline } = this;
    const asked: Asked = {
      runId,
      pipeline,
      requestId: this.#nextRequestId(),
      endpoint: `${endpoint.method} ${endpoint.path}`,
      askedAt: this.clock.now(),
      attempts: 0,
      ...purpose,
    };
    this.enter({ records: [settledRecord(asked, reason)], issues: [] });
  }

  /** Lands the pending ledger entries: after the data that they describe. */
  async landLedger(): Promise<void> {
    const entries = this.#entries;
    this.#entries = [];
    for (const { records, issues } of entries) {
      const [first] = records;
      if (first === undefined || issues.length === 0) continue;
      const source = `${first.endpoint} ${first.runId}/${first.requestId}`;
      await rejectIssues(this.session, first.runId, first.dataset, source, issues);
    }
    const records = entries.flatMap((entry) => entry.records);
    const version = await landRequests(this.session, this.lake, records, this.landOptions());
    if (version !== undefined) this.ownLedgerVersions.add(version);
  }

  /** Ends the run where the disk is full: every further response would be lost as well. */
  diskIsFull(error: unknown): void {
    if (error instanceof LakeError) this.stopped ??= messageOf(error);
  }

  async #expectSpace(bars: number): Promise<void> {
    try {
      await expectSpace(this.lake.work.path, bars, this.#freeBytes);
    } catch (error) {
      this.diskIsFull(error);
      throw error;
    }
  }

  #nextRequestId(): string {
    return String(++this.#lastRequest).padStart(6, "0");
  }

  #fail(asked: Asked, fault: ServiceFault, durationMs: number, isHealed: boolean): void {
    const reason = fault.hint ? `${fault.message}; ${fault.hint}` : fault.message;
    this.requests[isRefusal(fault) ? "refused" : "failed"] += 1;
    this.enter({ records: [failedRecord(asked, fault, reason, durationMs)], issues: [] });
    this.healed += Number(isHealed);
    if (isHealed) return;
    const { dataset, requestId, symbols } = asked;
    this.symbols.note(dataset, symbols, new Set(symbols));
    this.failures.push({ request: `${dataset} ${requestId}`, reason, symbols: symbols.length });
    const status = fault instanceof ServiceError ? fault.status : undefined;
    if (status === 401) this.stopped = messageOf(fault);
    else if (status === 403) this.refused.set(dataset, reason);
    else this.stopped ??= this.#breaker.failed(fault.message);
  }
}

import { finalEnd } from "../../calendar/sessions.js";
import { isNotOffered } from "../../client/answer-error.js";
import type { Ask, ServiceClient } from "../../client/service-client.js";
import { messageOf, ServiceError, TransportError, WireError } from "../../core/errors.js";
import type { Region } from "../../core/exchange.js";
import type { Issue } from "../../core/issue.js";
import type { Clock, TimeRange } from "../../core/time.js";
import type { Session } from "../../db/session.js";
import type { Lake } from "../../lake/lake.js";
import { type RejectCount, rejectIssues } from "../../lake/rejects.js";
import type { LandOptions, LandReport } from "../../lake/upsert.js";
import { KlineBufferPool } from "../../wire/decode/kline-buffers.js";
import { landRequests, type RequestRecord } from "./ledger.js";

/** What a run tells while it goes on. */
export interface Progress {
  readonly requestsDone: number;
  readonly requestsTotal: number;
  readonly rows: number;
  readonly bytes: number;
  /** What is being done, in a few words. */
  readonly doing: string;
}

/** Requests that may be under way at once. */
export const CONCURRENCY = 4;
/** Failures in a row after which a run stops asking. */
const MAX_FAILURES_IN_A_ROW = 5;

/** What the reader of an answer tells the ledger. */
export interface Received {
  readonly rows: number;
  readonly rejected: number;
  readonly bytes: number;
  readonly absent: readonly string[];
  readonly issues: readonly Issue[];
  /** What of the purpose is answered in full; other symbols, or windows, are still to be asked for. @default all */
  readonly parts?: readonly Pick<Purpose, "symbols" | "window">[];
}

/** A request, as the ledger needs it. */
export interface Purpose {
  readonly dataset: string;
  readonly symbols: readonly string[];
  readonly window?: TimeRange | undefined;
  readonly finalEnd?: number | undefined;
}

/** What a run is made of. */
export interface RunParts {
  readonly lake: Lake;
  readonly session: Session;
  readonly client: ServiceClient;
  readonly clock: Clock;
  readonly runId: string;
  readonly pipeline: string;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
}

/** Everything that one run of a pipeline works with. A class because it holds what the run has done so far. */
export class Run {
  readonly lake: Lake;
  readonly session: Session;
  readonly client: ServiceClient;
  readonly clock: Clock;
  readonly runId: string;
  readonly pipeline: string;
  readonly signal: AbortSignal;
  readonly #onProgress: (progress: Progress) => void;
  /** Column buffers for K-line answers: lent by each to the next. */
  readonly buffers = new KlineBufferPool();
  readonly requests = { planned: 0, sent: 0, answered: 0, empty: 0, refused: 0, failed: 0 };
  readonly landed: LandReport[] = [];
  readonly failures: { readonly request: string; readonly reason: string; readonly symbols: number }[] = [];
  readonly startedAt: number;
  /** Ends of what was final when the run began, by region; what settles later is asked for again by the next run. */
  readonly finalEnds: Readonly<Record<Region, number>>;
  rows = 0;
  bytes = 0;
  rejects: RejectCount[] = [];
  /** Why the run asks for nothing more, once it does not. */
  stopped: string | undefined;
  #doing = "";
  #pending: RequestRecord[] = [];
  #failuresInARow = 0;
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
    this.#onProgress = parts.onProgress;
    const now = parts.clock.now();
    this.startedAt = now;
    this.finalEnds = { CN: finalEnd("CN", now), HK: finalEnd("HK", now), US: finalEnd("US", now) };
  }

  /** Options for a landing at this moment. */
  landOptions(): LandOptions {
    return { operation: "INGEST", runId: this.runId, now: this.clock.now() };
  }

  /** Says whether the run should not ask for more: interrupted, or refused, or failing again and again. */
  get halted(): boolean {
    return this.stopped !== undefined || this.signal.aborted;
  }

  /** Adds to the number of requests that this run means to send. */
  plan(count: number): void {
    this.requests.planned += count;
    this.#tell();
  }

  doing(what: string): void {
    this.#doing = what;
    this.#tell();
  }

  /** Runs work on the session; works wait for one another, as a connection takes one statement at a time. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(work);
    this.#queue = result.catch(() => undefined);
    return result;
  }

  /**
   * Sends a request and enters it in the ledger.
   *
   * @param read reads the body. What it keeps must be staged by `store`, which runs only once the whole is read.
   * @returns what `store` made of it, or undefined where the request was refused or failed: then it is recorded so.
   */
  async ask<T extends Received, U>(
    ask: Ask,
    purpose: Purpose,
    read: (body: AsyncIterable<Uint8Array>) => Promise<T>,
    store: (value: T, requestId: string) => Promise<U>,
  ): Promise<U | undefined> {
    const requestId = String(++this.#lastRequest).padStart(6, "0");
    const askedAt = this.clock.now();
    const endpoint = `${ask.endpoint.method} ${ask.endpoint.path}`;
    const entry = { requestId, endpoint, askedAt, ...purpose };
    let attempts = 0;
    this.requests.sent += 1;
    try {
      const { value, durationMs } = await this.client.ask(ask, read, this.signal, (attempt) => {
        attempts = attempt;
      });
      const stored = await this.exclusive(async () => {
        await rejectIssues(
          this.session,
          this.runId,
          purpose.dataset,
          `${endpoint} ${this.runId}/${requestId}`,
          value.issues,
        );
        return store(value, requestId);
      });
      const { rows, rejected, bytes, absent } = value;
      const status = rows === 0 ? "empty" : "answered";
      this.requests[status] += 1;
      this.rows += rows;
      this.bytes += bytes;
      this.#failuresInARow = 0;
      this.record({
        ...entry,
        status,
        httpStatus: 200,
        attempts,
        rows,
        rejected,
        bytes,
        durationMs,
        absent,
        ...value.parts?.[0],
      });
      for (const [index, part] of (value.parts ?? []).slice(1).entries())
        this.record(partRecord(entry, part, index + 1));
      return stored;
    } catch (error) {
      if (this.signal.aborted || !isServiceFault(error)) throw error;
      this.#fail(entry, attempts, error);
      return undefined;
    } finally {
      this.#tell();
    }
  }

  /** Enters a request, or a part of one, in the ledger; it is landed with the next {@link landLedger}. */
  record(record: RequestRecord): void {
    this.#pending.push(record);
  }

  /** Lands what the ledger has pending: after the data that it speaks of. */
  async landLedger(): Promise<void> {
    const records = this.#pending;
    this.#pending = [];
    await landRequests(this.session, this.lake, this.pipeline, records, this.landOptions());
  }

  /** Forgets the answers that the ledger has pending: their rows have not landed, and are to be asked for again. */
  forgetUnlanded(): void {
    this.#pending = this.#pending.filter(({ status }) => status !== "answered");
  }

  #fail(
    entry: Pick<RequestRecord, "requestId" | "endpoint" | "askedAt"> & Purpose,
    attempts: number,
    error: ServiceError | TransportError | WireError,
  ): void {
    const refused =
      isNotOffered(error) ||
      (error instanceof ServiceError && error.status >= 400 && error.status < 500 && error.status !== 429);
    const status = refused ? "refused" : "failed";
    const reason = error.hint ? `${error.message}; ${error.hint}` : error.message;
    this.requests[status] += 1;
    this.#failuresInARow += 1;
    this.failures.push({
      request: `${entry.dataset} ${entry.requestId}`,
      reason,
      symbols: entry.symbols.length,
    });
    this.record({
      ...entry,
      status,
      httpStatus: error instanceof ServiceError ? error.status : undefined,
      attempts,
      rows: 0,
      rejected: 0,
      bytes: 0,
      durationMs: this.clock.now() - entry.askedAt,
      absent: [],
      reason,
    });
    if (error instanceof ServiceError && (error.status === 401 || error.status === 403))
      this.stopped = messageOf(error);
    else if (this.#failuresInARow >= MAX_FAILURES_IN_A_ROW) {
      this.stopped = `${this.#failuresInARow} requests failed in a row, the last with: ${error.message}`;
    }
  }

  #tell(): void {
    const { planned, answered, empty, refused, failed } = this.requests;
    this.#onProgress({
      requestsDone: answered + empty + refused + failed,
      requestsTotal: planned,
      rows: this.rows,
      bytes: this.bytes,
      doing: this.#doing,
    });
  }
}

/** A further part of one request: what it cost stands with the first. */
function partRecord(
  entry: Pick<RequestRecord, "requestId" | "endpoint" | "askedAt"> & Purpose,
  part: Pick<Purpose, "symbols" | "window">,
  index: number,
): RequestRecord {
  const nothing = { attempts: 0, rows: 0, rejected: 0, bytes: 0, durationMs: 0, absent: [] };
  return {
    ...entry,
    ...nothing,
    ...part,
    status: "answered",
    httpStatus: 200,
    requestId: `${entry.requestId}.${index}`,
  };
}

function isServiceFault(error: unknown): error is ServiceError | TransportError | WireError {
  return error instanceof ServiceError || error instanceof TransportError || error instanceof WireError;
}

import pMap from "p-map";
import { isEndpointRefusal, UnreachableError } from "../../../client/response-error.js";
import type { Ask } from "../../../client/service-client.js";
import { ServiceError } from "../../../core/errors.js";
import { oneAfterAnother } from "../../../core/permits.js";
import { firstOf } from "../../../core/release-after.js";
import { type Clock, type TimeRange, ticksOf } from "../../../core/time.js";
import type { Session } from "../../../db/session/session.js";
import { selectFiles } from "../../../lake/files/prune.js";
import { verifyContent } from "../../../lake/files/verify-content.js";
import type { Lake } from "../../../lake/lake.js";
import { expectWritable } from "../../../lake/local/durable-file.js";
import { expectSpace } from "../../../lake/local/free-space.js";
import type { DataFile, Snapshot } from "../../../lake/log/snapshot.js";
import { spoolFolder } from "../../../lake/requests/response-spool.js";
import { REGIONS, type Region } from "../../../market/regions.js";
import { regionOf } from "../../../market/symbol.js";
import { calendarSpans } from "../../../market/trading-calendar.js";
import { BARS_1D, BARS_1M } from "../../../schema/bars.js";
import type { TableSchema } from "../../../schema/column.js";
import { type AbsenceReason, REQUESTS, RUNS } from "../../../schema/runs.js";
import type { Endpoint } from "../../../wire/endpoints.js";
import { landRequests, type RequestRecord } from "../../ledger/ledger.js";
import { leavesHole } from "../../ledger/ledger-windows.js";
import type { RunProgress } from "../report/run-progress.js";
import { landOptions, type RunContext } from "../run-context.js";
import type { RunLog } from "../run-log.js";
import {
  type Asked,
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

/** Tables with so many rows that a landing reads only some of their files. */
const LARGE: ReadonlySet<TableSchema> = new Set([BARS_1D, BARS_1M, REQUESTS, RUNS]);
/** Files that are verified at the same time. */
const PARALLEL = 4;

/**
 * The tables in which a run lands. It makes sure, before a request is sent and paid for, that its response can be landed.
 * Each file and folder is checked once in a run.
 */
export class LandingPlace {
  readonly #lake: Lake;
  readonly #tables: readonly TableSchema[];
  readonly #signal: AbortSignal;
  #opened: Promise<ReadonlyMap<string, Snapshot>> | undefined;
  readonly #checked = new Map<string, Promise<void>>();

  /** @param signal ends the comparison of files, also within a file; its reason is thrown. */
  constructor(lake: Lake, tables: readonly TableSchema[], signal: AbortSignal) {
    this.#lake = lake;
    this.#tables = tables;
    this.#signal = signal;
  }

  /**
   * Makes sure that the logs of all tables can be read, that their folders and that of received responses can be written,
   * and that the files with which the response will be compared are intact. Other files of bars may be damaged or
   * missing: the response lands, and the run ends with their error.
   *
   * @throws {LakeError} for the first fault.
   */
  async expectUsable({ dataset, symbols, window }: Purpose): Promise<void> {
    this.#opened ??= this.#open();
    const snapshot = (await this.#opened).get(dataset);
    const region = regionOf(symbols[0] ?? "");
    if (snapshot === undefined || window === undefined || region === undefined) return;
    await this.#expectWritable(foldersOf(snapshot.table, region, window));
    const demand = { region, symbols: [...symbols].sort(), range: window };
    await this.#verify(snapshot, selectFiles(snapshot.files.values(), [demand]));
  }

  async #open(): Promise<ReadonlyMap<string, Snapshot>> {
    const { work } = this.#lake;
    for (const folder of [work.staging, spoolFolder(work)]) await expectWritable(folder);
    const snapshots = new Map<string, Snapshot>();
    for (const table of this.#tables) {
      const snapshot = await this.#lake.snapshot(table);
      snapshots.set(table.name, snapshot);
      await this.#expectWritable([table.name, `${table.name}/_delta_log`]);
      if (!LARGE.has(table)) await this.#verify(snapshot, [...snapshot.files.values()]);
    }
    return snapshots;
  }

  /** Checks folders of the lake; of a store there are none, and the lease of the run shows that it can be written. */
  async #expectWritable(folders: readonly string[]): Promise<void> {
    const { storage } = this.#lake;
    if (storage.access !== undefined) return;
    for (const folder of folders) await this.#once(folder, () => expectWritable(storage.urlOf(folder)));
  }

  async #verify(snapshot: Snapshot, files: readonly DataFile[]): Promise<void> {
    const { table } = snapshot;
    const verifyOne = async (file: DataFile): Promise<void> => {
      try {
        await verifyContent(this.#lake, snapshot, [file], this.#signal);
      } catch (error) {
        this.#signal.throwIfAborted();
        // Since the log was read, another process may have replaced the file, and deleted it.
        if ((await this.#lake.snapshot(table)).files.has(file.path)) throw error;
      }
    };
    await pMap(files, (file) => this.#once(`${table.name}/${file.path}`, () => verifyOne(file)), {
      concurrency: PARALLEL,
    });
  }

  #once(path: string, check: () => Promise<void>): Promise<void> {
    const checked = this.#checked.get(path) ?? check();
    this.#checked.set(path, checked);
    return checked;
  }
}

/** The folders of the partitions of a table of bars in which bars of a window land. */
function foldersOf({ name, span }: TableSchema, region: Region, window: TimeRange): string[] {
  if (span === undefined) return [];
  const spanOf = calendarSpans(REGIONS[region].zone, span.unit);
  const folders: string[] = [];
  for (let time = window.start; time < window.end; ) {
    const period = spanOf(time);
    const value = span.unit === "year" ? period.first.slice(0, 4) : period.first;
    folders.push(`${name}/region=${region}/${span.partition}=${value}`);
    time = period.end;
  }
  return folders;
}

/** Consecutive failures after which requests pause. */
const MAX_FAILURES_IN_A_ROW = 5;
/** Length of the first pause, in milliseconds. Each further pause is twice as long. */
const FIRST_PAUSE_MS = 30_000;
/** Number of pauses without a response in between, after which the run stops. */
const MAX_PAUSES = 2;

/**
 * Prevents a run from sending requests to a service that does not respond: requests pause, and finally the run stops.
 */
class CircuitBreaker {
  readonly #clock: Clock;
  #failures = 0;
  #pauses = 0;
  #closedUntil = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves once a request may be sent. */
  async ready(signal: AbortSignal): Promise<void> {
    const wait = this.#closedUntil - this.#clock.now();
    if (wait > 0) await this.#clock.sleep(wait, signal);
  }

  succeeded(): void {
    this.#failures = 0;
    this.#pauses = 0;
  }

  /** Records a failure. @returns the reason to stop the run, if there were too many failures; else undefined. */
  failed(reason: string): string | undefined {
    this.#failures += 1;
    if (this.#failures % MAX_FAILURES_IN_A_ROW !== 0) return undefined;
    if (this.#pauses === MAX_PAUSES)
      return `${this.#failures} requests failed in a row, the last with: ${reason}`;
    this.#closedUntil = this.#clock.now() + FIRST_PAUSE_MS * 2 ** this.#pauses;
    this.#pauses += 1;
    return undefined;
  }
}

/** Number of refusals of an endpoint after which a run sends it no more requests, if it has received no response of it. */
const MOST_REFUSALS = 5;

/**
 * Recognises the datasets of a run whose endpoint the service does not have: it refuses their requests with 404, and has
 * not responded to one. Other datasets may have responses, so that this is no reason to pause or to stop the run.
 */
class RefusedDatasets {
  readonly #received = new Set<string>();
  readonly #refusals = new Map<string, number>();

  received(dataset: string): void {
    this.#received.add(dataset);
  }

  /**
   * Records a failed request.
   *
   * @returns undefined where it does not show that the endpoint is absent; else the reason to request no more of the
   *   dataset, or "" while there are too few refusals.
   */
  refused(dataset: string, fault: ServiceFault): string | undefined {
    const isRefused = fault instanceof ServiceError && fault.status === 404 && isEndpointRefusal(fault);
    if (!isRefused || this.#received.has(dataset)) return undefined;
    const refusals = (this.#refusals.get(dataset) ?? 0) + 1;
    this.#refusals.set(dataset, refusals);
    if (refusals < MOST_REFUSALS) return "";
    return `${refusals} requests were refused and none was answered, the last with: ${fault.message}`;
  }
}

/** The entries of a run for the ledger, stored from the end of a request until the rows of its response have landed. */
export class PendingLedger {
  readonly #context: RunContext;
  /** The versions of the ledger that this run made, and whether one of their records leaves a hole. */
  readonly #ownVersions = new Map<number, boolean>();
  #entries: LedgerEntry[] = [];
  #lastRequest = 0;
  #session: Session | undefined;
  readonly #oneAfterAnother = oneAfterAnother();

  constructor(context: RunContext) {
    this.#context = context;
  }

  /** A request with a new id, which is about to be sent or counts as sent. */
  newRequest({ method, path }: Endpoint, purpose: Purpose): Asked {
    const { runId, pipeline, marketClock } = this.#context;
    const requestId = String(++this.#lastRequest).padStart(6, "0");
    const endpoint = `${method} ${path}`;
    return { runId, pipeline, requestId, endpoint, askedAt: marketClock.now(), attempts: 0, ...purpose };
  }

  enter(entry: LedgerEntry): void {
    this.#entries.push(entry);
  }

  /**
   * Records a window without a separate request, because other responses have shown its result.
   *
   * @param reason why the symbols are absent in it; undefined where they have bars after it.
   */
  enterSettled(
    { endpoint, ...purpose }: Purpose & { readonly endpoint: Endpoint },
    reason?: AbsenceReason,
  ): void {
    this.enter({ records: [settledRecord(this.newRequest(endpoint, purpose), reason)], issues: [] });
  }

  /** Lands the entries. Call it after the data that they describe has landed. */
  async land(): Promise<void> {
    const landRecords = await this.prepare();
    await landRecords();
  }

  /**
   * Adds the issues of the entries to the rejects, and takes their records, after the data that they describe has landed.
   *
   * @returns the landing of the records. It does not use the run's session, which is free for the next data; of several
   *   landings, each waits for the one before.
   */
  async prepare(): Promise<() => Promise<void>> {
    const entries = this.#entries;
    this.#entries = [];
    for (const { records, issues } of entries) {
      const [first] = records;
      if (first === undefined || issues.length === 0) continue;
      const source = `${first.endpoint} ${first.runId}/${first.requestId}`;
      await this.#context.rejects.addIssues({ runId: first.runId, dataset: first.dataset, source }, issues);
    }
    const records = entries.flatMap((entry) => entry.records);
    return () => this.#oneAfterAnother(() => this.#landRecords(records));
  }

  async #landRecords(records: readonly RequestRecord[]): Promise<void> {
    if (records.length === 0) return;
    const { session, lake, tables } = this.#context;
    // The tables have the rows of the records only if they were not replaced since these landed.
    await Promise.all(tables.map((table) => lake.snapshot(table)));
    this.#session ??= await session.sibling();
    const version = await landRequests(this.#session, lake, records, landOptions(this.#context));
    if (version !== undefined) this.#ownVersions.set(version, records.some(leavesHole));
  }

  close(): void {
    this.#session?.close();
    this.#session = undefined;
  }

  /** Whether this run made a version of the ledger, and none of its records leaves a hole. */
  leavesNone(version: number): boolean {
    return this.#ownVersions.get(version) === false;
  }
}

/** Sends the requests of a run, until the run may send no more. */
export class RequestSender {
  readonly #context: RunContext;
  readonly #log: RunLog;
  readonly #ledger: PendingLedger;
  readonly #progress: RunProgress;
  /** Aborts once an error ends the run. */
  readonly #failed = new AbortController();
  /** Aborts requests that are waiting to be sent, no later than the run's signal. */
  readonly #unsent: AbortSignal;
  readonly #breaker: CircuitBreaker;
  readonly #refused = new RefusedDatasets();
  readonly #place: LandingPlace;

  constructor(context: RunContext, log: RunLog, ledger: PendingLedger, progress: RunProgress) {
    this.#context = context;
    this.#log = log;
    this.#ledger = ledger;
    this.#progress = progress;
    this.#unsent = AbortSignal.any([context.signal, this.#failed.signal]);
    this.#breaker = new CircuitBreaker(context.clock);
    this.#place = new LandingPlace(context.lake, context.tables, context.signal);
  }

  /** Whether no more of a dataset may be requested, because of an interrupt, a refusal, or repeated failures. */
  isHalted(dataset: string): boolean {
    return this.#unsent.aborted || this.#log.isStopped(dataset);
  }

  /** Sends no more requests, because an error ends the run. Requests in flight continue. */
  stop(): void {
    this.#failed.abort();
  }

  /**
   * Sends a request. The response is in the ledger only after {@link PendingLedger.enter}, together with its rows; a
   * request that was refused or failed is recorded at once.
   *
   * @param read reads the body of the response; it gets the id of the request.
   * @param heals whether the caller sends a refused request again in another way, so that the refusal is not a failure.
   * @returns undefined where the request was refused or failed.
   * @throws {LakeError} where the disk has too little space for the response, or the response could not be landed: the
   *   run ends, and nothing is paid for that would be lost.
   */
  async ask<T extends Received>(
    ask: Ask,
    purpose: Purpose,
    read: (body: AsyncIterable<Uint8Array>, requestId: string) => Promise<T>,
    heals: (error: ServiceError) => boolean = () => false,
  ): Promise<PendingResponse<T> | undefined> {
    const { client, clock, signal, fence } = this.#context;
    await this.#breaker.ready(this.#unsent);
    await fence?.confirm();
    await this.#expectPlace(purpose);
    this.#unsent.throwIfAborted();
    const asked = this.#ledger.newRequest(ask.endpoint, purpose);
    const { runId, requestId } = asked;
    const askedTicks = ticksOf(clock);
    this.#log.sent();
    this.#progress.sent(purpose.dataset, () => client.quotaOf(ask.endpoint.group));
    let [rows, bytes] = [0, 0];
    try {
      const { value, durationMs } = await client.ask(
        ask,
        (body) => read(body, requestId),
        signal,
        async (attempt) => {
          await fence?.confirm();
          asked.attempts = attempt;
        },
        this.#unsent,
      );
      ({ rows, bytes } = value);
      this.#breaker.succeeded();
      this.#refused.received(purpose.dataset);
      this.#log.received(purpose, value);
      const records = responseRecords(asked, value, durationMs);
      return { value, requestId, source: `${runId}/${requestId}`, entry: { records, issues: value.issues } };
    } catch (error) {
      if (signal.aborted || !isServiceFault(error)) throw error;
      const durationMs = ticksOf(clock) - askedTicks;
      const isHealed = error instanceof ServiceError && heals(error);
      this.#fail(asked, error, durationMs, { isHealed, isOfPart: ask.path !== undefined });
      return undefined;
    } finally {
      this.#progress.ended(purpose.dataset, rows, bytes);
    }
  }

  /** Makes sure, before a request is sent and paid for, that its response can be stored and landed. */
  async #expectPlace(purpose: Purpose): Promise<void> {
    const { lake, freeBytes } = this.#context;
    try {
      await expectSpace(lake.work.path, purpose.bars ?? 0, freeBytes);
      await this.#place.expectUsable(purpose);
    } catch (error) {
      this.#log.stopIfUnwritable(error);
      throw error;
    }
  }

  /**
   * Records a request that was refused or failed, and what follows from it for the run.
   *
   * @param options.isOfPart whether the path names a part of the dataset: a 404 may be about that part alone.
   */
  #fail(
    asked: Asked,
    fault: ServiceFault,
    durationMs: number,
    { isHealed, isOfPart }: { readonly isHealed: boolean; readonly isOfPart: boolean },
  ): void {
    const reason = fault.hint ? `${fault.message}; ${fault.hint}` : fault.message;
    const kind = isRefusal(fault) ? "refused" : "failed";
    this.#ledger.enter({ records: [failedRecord(asked, fault, reason, durationMs)], issues: [] });
    if (isHealed) return this.#log.unanswered(asked, kind);
    const { dataset, requestId, symbols } = asked;
    this.#log.unanswered(asked, kind, {
      dataset,
      request: `${dataset} ${requestId}`,
      reason,
      symbols: symbols.length,
    });
    const status = fault instanceof ServiceError ? fault.status : undefined;
    if (status === 401 || fault instanceof UnreachableError) return this.#log.stop(reason);
    if (status === 403) return this.#log.forbid(dataset, reason);
    const refused = isOfPart ? undefined : this.#refused.refused(dataset, fault);
    if (refused) this.#log.forbid(dataset, refused);
    if (refused !== undefined) return;
    const why = this.#breaker.failed(fault.message);
    if (why !== undefined) this.#log.stop(why);
  }
}

export const CONCURRENCY = 4;

/**
 * Sends several requests at the same time. After the first error no further request is sent. Requests in flight are
 * awaited, because they are paid for: their responses are stored while the run still has its lease. Then the error
 * is thrown.
 */
export async function askEach<T>(
  requests: Pick<RequestSender, "stop">,
  subjects: Iterable<T>,
  ask: (subject: T) => Promise<void>,
  concurrency: number,
): Promise<void> {
  const errors: unknown[] = [];
  const askOne = async (subject: T): Promise<void> => {
    if (errors.length > 0) return;
    try {
      await ask(subject);
    } catch (error) {
      errors.push(error);
      requests.stop();
    }
  };
  await pMap(subjects, askOne, { concurrency });
  if (errors.length > 0) throw firstOf(errors);
}

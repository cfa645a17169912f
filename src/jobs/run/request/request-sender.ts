import type { Ask } from "../../../client/service-client.js";
import { ServiceError } from "../../../core/errors.js";
import { ticksOf } from "../../../core/time.js";
import { expectSpace } from "../../../lake/local/free-space.js";
import type { RunProgress } from "../report/run-progress.js";
import type { RunContext } from "../run-context.js";
import type { RunLog } from "../run-log.js";
import { CircuitBreaker } from "./circuit-breaker.js";
import { LandingPlace } from "./landing-place.js";
import type { PendingLedger } from "./pending-ledger.js";
import { RefusedDatasets } from "./refused-datasets.js";
import {
  type Asked,
  failedRecord,
  isRefusal,
  isServiceFault,
  type PendingResponse,
  type Purpose,
  type Received,
  responseRecords,
  type ServiceFault,
} from "./request-records.js";

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
    read: (body: AsyncIterable<Uint8Array>, requestId: string, contentType?: string) => Promise<T>,
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
        (body, contentType) => read(body, requestId, contentType),
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
    if (status === 401) return this.#log.stop(reason);
    if (status === 403) return this.#log.forbid(dataset, reason);
    const refused = isOfPart ? undefined : this.#refused.refused(dataset, fault);
    if (refused) this.#log.forbid(dataset, refused);
    if (refused !== undefined) return;
    const why = this.#breaker.failed(fault.message);
    if (why !== undefined) this.#log.stop(why);
  }
}

import { oneAfterAnother } from "../../core/permits.js";
import { releaseAll } from "../../core/release-after.js";
import { ResponseSpool } from "../../lake/requests/response-spool.js";
import { KlineBufferPool } from "../../wire/decode/kline-buffers.js";
import { type Progress, RunProgress } from "./report/run-progress.js";
import { PendingLedger, RequestSender } from "./request/request-sender.js";
import { type RunContext, type RunParts, runContext } from "./run-context.js";
import { RunLog } from "./run-log.js";

export interface Run {
  readonly context: RunContext;
  readonly log: RunLog;
  readonly requests: RequestSender;
  readonly ledger: PendingLedger;
  readonly progress: RunProgress;
  /** Responses on disk that have not landed yet. */
  readonly responses: ResponseSpool;
  /** Column buffers for K-line responses, which later responses use again. */
  readonly buffers: KlineBufferPool;
  /** Runs work on the session, one after another: a connection takes one statement at a time. */
  readonly exclusive: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Makes a run that begins now; {@link closeRun} ends it. */
export function openRun(parts: RunParts, onProgress: (progress: Progress) => void): Run {
  const context = runContext(parts);
  const log = new RunLog();
  const ledger = new PendingLedger(context);
  const progress = new RunProgress(onProgress);
  return {
    context,
    log,
    requests: new RequestSender(context, log, ledger, progress),
    ledger,
    progress,
    responses: ResponseSpool.of(parts.lake, parts.runId),
    buffers: new KlineBufferPool(),
    exclusive: oneAfterAnother(),
  };
}

/**
 * Closes the connection of the ledger and the spool. Otherwise, in a process that continues, such as a schedule, the run would count as
 * alive.
 */
export function closeRun({ ledger, responses }: Run): Promise<void> {
  return releaseAll(
    async () => ledger.close(),
    () => responses.close(),
  );
}

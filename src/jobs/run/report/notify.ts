import pRetry from "p-retry";
import { systemClock } from "../../../client/system-clock.js";
import { messageOf, TransportError } from "../../../core/errors.js";
import type { Clock } from "../../../core/time.js";
import type { RunStatus } from "../../../schema/runs.js";
import type { ScrubReport } from "../../maintenance/scrub-lake.js";
import type { RunOutcome } from "./run-history.js";

/** Run results after which a complete run is a recovery. */
const BAD_ENDS = new Set<RunStatus>(["partial", "refused", "failed"]);
const MOST_FAILURES = 10;
const TIMEOUT_MS = 10_000;

/** The JSON body of a webhook request. `text` is a sentence for people, which chat services show. */
export interface Notice {
  readonly text: string;
  readonly pipeline: string;
  /** Null where the run could not begin. */
  readonly run_id: string | null;
  readonly status: RunStatus;
  /** Whether this is the first complete run after an incomplete one. */
  readonly recovered: boolean;
  readonly stopped: string | null;
  readonly requests: RunOutcome["requests"];
  readonly rows: number;
  readonly failures: readonly {
    readonly request: string;
    readonly reason: string;
    readonly symbols: number;
  }[];
  /** ISO 8601, UTC. */
  readonly started_at: string;
  readonly finished_at: string;
}

/**
 * The notice about a run, if its result is in `on`, or if it is complete and the previous run was not; else undefined.
 */
export function noticeOf(
  outcome: RunOutcome,
  on: readonly RunStatus[],
  previous: RunStatus | undefined,
): Notice | undefined {
  const recovered = outcome.status === "complete" && previous !== undefined && BAD_ENDS.has(previous);
  if (!recovered && !on.includes(outcome.status)) return undefined;
  const { pipeline, runId, status, stopped, requests, rows, failures } = outcome;
  return {
    text: sentence(outcome, recovered),
    pipeline,
    run_id: runId ?? null,
    status,
    recovered,
    stopped: stopped ?? null,
    requests,
    rows,
    failures: failures.slice(0, MOST_FAILURES),
    started_at: new Date(outcome.startedAt).toISOString(),
    finished_at: new Date(outcome.finishedAt).toISOString(),
  };
}

/** A notice that is about no run: no request was sent, and nothing has landed. */
const NO_RUN = {
  run_id: null,
  recovered: false,
  stopped: null,
  requests: { planned: 0, sent: 0, answered: 0, empty: 0, refused: 0, failed: 0 },
  rows: 0,
} as const;

/** The notice by which a user finds out whether a webhook shows notices. @param now epoch milliseconds. */
export function testNotice(now: number): Notice {
  const at = new Date(now).toISOString();
  const text = "barlake: a test. Reports of runs that are not complete come to this place.";
  return {
    ...NO_RUN,
    text,
    pipeline: "test",
    status: "complete",
    failures: [],
    started_at: at,
    finished_at: at,
  };
}

/** The notice that files of a lake are damaged. @param now epoch milliseconds. */
export function damageNotice({ damaged }: Pick<ScrubReport, "damaged">, now: number): Notice {
  const at = new Date(now).toISOString();
  const what = damaged.length === 1 ? "a file of the lake is" : `${damaged.length} files of the lake are`;
  const failures = damaged.map((reason) => ({ request: "scrub", reason, symbols: 0 }));
  return {
    ...NO_RUN,
    text: `barlake: ${what} damaged: ${damaged[0]}. barlake repair restores it or has its rows requested again`,
    pipeline: "scrub",
    status: "failed",
    failures: failures.slice(0, MOST_FAILURES),
    started_at: at,
    finished_at: at,
  };
}

interface SendOptions {
  readonly signal?: AbortSignal | undefined;
  /** How often a notice that was not accepted is sent again. @default 3 */
  readonly retries?: number;
  /** Wait before the first retry, in milliseconds; each further wait is twice as long. @default 1000 */
  readonly backoffMs?: number;
  /** Longest wait for a response, in milliseconds. @default 10000 */
  readonly timeoutMs?: number;
  /** Measures the wait for a response. @default the machine's clock */
  readonly clock?: Pick<Clock, "sleep">;
}

/**
 * Sends a notice. It never throws: a lost notice does not fail a run.
 *
 * @param webhook http or https address; its path and query may be secret, and are in no message.
 * @returns why it could not be sent; undefined where it was.
 */
export async function sendNotice(
  webhook: string,
  notice: Notice,
  { signal, retries = 3, backoffMs = 1000, timeoutMs = TIMEOUT_MS, clock = systemClock }: SendOptions = {},
): Promise<string | undefined> {
  const subject = `webhook at ${new URL(webhook).host}`;
  try {
    await pRetry(() => post(webhook, notice, { timeoutMs, clock, signal }), {
      retries,
      minTimeout: backoffMs,
      randomize: true,
      ...(signal ? { signal } : {}),
      shouldRetry: ({ error }) => !(error instanceof NotTaken && error.status < 500 && error.status !== 429),
    });
    return undefined;
  } catch (error) {
    return `${subject}: ${messageOf(error)}`;
  }
}

/** The error where the webhook's response shows that it did not accept the notice. */
class NotTaken extends TransportError {
  readonly status: number;

  constructor(status: number) {
    super(`answered with status ${status}`);
    this.status = status;
  }
}

async function post(
  webhook: string,
  notice: Notice,
  {
    timeoutMs,
    clock,
    signal,
  }: Required<Pick<SendOptions, "timeoutMs" | "clock">> & Pick<SendOptions, "signal">,
): Promise<void> {
  const [timeout, over] = [new AbortController(), new AbortController()];
  clock.sleep(timeoutMs, over.signal).then(
    () => timeout.abort(),
    () => {},
  );
  try {
    // Loaded on demand, because few runs send notices.
    const { request } = (await import("undici")).default;
    const { statusCode, body } = await request(webhook, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(notice),
      signal: signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal,
    });
    await body.dump();
    if (statusCode < 200 || statusCode > 299) throw new NotTaken(statusCode);
  } catch (error) {
    if (timeout.signal.aborted) throw new TransportError(`did not respond within ${timeoutMs} ms`);
    if (signal?.aborted || error instanceof NotTaken) throw error;
    throw new TransportError(messageOf(error) || "cannot be reached");
  } finally {
    over.abort();
  }
}

function sentence(
  { pipeline, status, stopped, requests, rows, failures, completeness, files }: RunOutcome,
  recovered: boolean,
): string {
  const count = (n: number): string => n.toLocaleString("en-US");
  const came =
    files === undefined
      ? `${count(requests.answered + requests.empty)} of ${count(requests.sent)} requests answered, ${count(rows)} rows`
      : `${count(requests.answered)} of ${count(requests.sent)} files landed, ${count(rows)} rows`;
  if (status === "complete") return `barlake: ${pipeline} is complete${recovered ? " again" : ""}: ${came}.`;
  const [first] = failures;
  const failure =
    files === undefined || first === undefined ? first?.reason : `${first.request}: ${first.reason}`;
  const reason = stopped ?? failure ?? lackOf(completeness);
  return `barlake: ${pipeline} ended ${status}: ${came}${reason === undefined ? "" : `. ${reason}`}`;
}

/** What is missing in a run, in addition to its failures. */
function lackOf(completeness: RunOutcome["completeness"]): string | undefined {
  const lacks = completeness.flatMap(({ dataset, unexplained, setAside }) => [
    ...(unexplained.length > 0
      ? [`${dataset}: ${unexplained.length} windows without a bar, unexplained`]
      : []),
    ...(setAside.length > 0 ? [`${dataset}: bars of ${setAside.length} symbols and windows set aside`] : []),
  ]);
  return lacks.length > 0 ? lacks.join("; ") : undefined;
}

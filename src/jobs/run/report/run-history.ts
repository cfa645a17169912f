import { UsageError } from "../../../core/errors.js";
import { type Clock, ticksOf } from "../../../core/time.js";
import { jsonParameter } from "../../../db/session/named-values.js";
import type { Session } from "../../../db/session/session.js";
import { withSmallSession } from "../../../db/session/small-session.js";
import { parquetRelation } from "../../../db/views/parquet-relation.js";
import type { Lake } from "../../../lake/lake.js";
import { type ReferenceChange, referenceChanges } from "../../../lake/land/land-versions.js";
import { type RequestStatus, RUNS, type RunStatus } from "../../../schema/runs.js";
import type { RunReport } from "../run-pipeline.js";
import type { RejectCount, RequestCount } from "./run-counts.js";
import { reasonOf } from "./run-report.js";

/** How a run ended, for monitoring. It also exists for a run that could not begin. */
export interface RunOutcome
  extends Pick<
    RunReport,
    | "pipeline"
    | "status"
    | "stopped"
    | "requests"
    | "rows"
    | "bytes"
    | "failures"
    | "landed"
    | "completeness"
    | "files"
    | "compaction"
  > {
  /** Undefined where the run could not begin. */
  readonly runId: string | undefined;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly finishedAt: number;
}

type SettledRun = { readonly outcome: RunOutcome } & (
  | { readonly kind: "reported"; readonly report: RunReport }
  | { readonly kind: "threw"; readonly error: unknown }
);

/**
 * Runs a pipeline and never throws: an error of the run, such as a lake without instruments or an unreadable lake, is
 * part of the result.
 */
export async function settleRun(
  pipeline: string,
  clock: Pick<Clock, "now" | "monotonic">,
  run: () => Promise<RunReport>,
): Promise<SettledRun> {
  const startedAt = clock.now();
  const startedTicks = ticksOf(clock);
  // The clock may be set during the run, so the end is computed from the start and the measured duration.
  const finishedAt = (): number => startedAt + Math.round(ticksOf(clock) - startedTicks);
  try {
    const report = await run();
    return { kind: "reported", outcome: { ...report, startedAt, finishedAt: finishedAt() }, report };
  } catch (error) {
    const outcome: RunOutcome = {
      pipeline,
      runId: undefined,
      // A wait of the run, for example for a key, was ended from outside.
      status: error instanceof Error && error.name === "AbortError" ? "interrupted" : "failed",
      stopped: reasonOf(error),
      requests: { planned: 0, sent: 0, answered: 0, empty: 0, refused: 0, failed: 0 },
      rows: 0,
      bytes: 0,
      failures: [],
      landed: [],
      completeness: [],
      startedAt,
      finishedAt: finishedAt(),
    };
    return { kind: "threw", outcome, error };
  }
}

/** A row of the table `runs`, without its partition column. */
export interface RunRow {
  readonly run_id: string;
  readonly pipeline: string;
  readonly started_at: Date;
  readonly finished_at: Date;
  readonly status: RunStatus;
  readonly stopped: string | null;
  readonly requests_planned: bigint;
  readonly requests_sent: bigint;
  readonly requests_answered: bigint;
  readonly requests_empty: bigint;
  readonly requests_refused: bigint;
  readonly requests_failed: bigint;
  readonly rows: bigint;
  readonly rejected: bigint;
  readonly bytes: bigint;
  readonly inserted: bigint;
  readonly updated: bigint;
  readonly unchanged: bigint;
  readonly host: string;
  readonly engine: string;
  /** JSON text. */
  readonly options: string;
}

export interface RunDetails {
  readonly run: RunRow;
  readonly requests: readonly RequestCount[];
  /** Refused and failed requests by reason, the reason with the most symbols first. */
  readonly failures: readonly {
    readonly status: RequestStatus;
    readonly http_status: number | null;
    readonly reason: string;
    readonly requests: number;
    readonly symbols: number;
  }[];
  readonly windows: readonly {
    readonly dataset: string;
    readonly start: Date;
    /** Exclusive. */
    readonly end: Date;
    readonly symbols: number;
  }[];
  readonly absent: readonly { readonly dataset: string; readonly symbols: readonly string[] }[];
  readonly changes: readonly ReferenceChange[];
  readonly rejects: readonly RejectCount[];
}

/** The last run of a pipeline; times in epoch milliseconds. */
export interface LastRun {
  /** `interrupted` or `killed` where no run came to its end. */
  readonly status: RunStatus;
  readonly startedAt: number;
  readonly finishedAt: number;
  /** End of the last complete run; undefined where there was none. */
  readonly lastSuccessAt: number | undefined;
}

/** Runs, newest first. @param reader a session with the lake's views. */
export async function listRuns(
  reader: Session,
  { limit, pipeline }: { readonly limit: number; readonly pipeline?: string | undefined },
): Promise<RunRow[]> {
  return reader.json<RunRow>(
    `SELECT * EXCLUDE (month) FROM raw.runs WHERE $1::VARCHAR IS NULL OR pipeline = $1
     ORDER BY started_at DESC, run_id DESC LIMIT $2`,
    [pipeline ?? null, limit],
  );
}

/**
 * Everything about one run. @param reader a session with the lake's views.
 *
 * @param prefix beginning of the run's id that no other run's id has.
 * @throws {UsageError} where no run's id, or more than one, begins with the prefix.
 */
export async function runDetails(reader: Session, prefix: string): Promise<RunDetails> {
  const run = await findRun(reader, prefix);
  const of = <Row>(sql: string): Promise<Row[]> => reader.json<Row>(sql, [run.run_id]);
  return {
    run,
    requests: await of(
      `SELECT dataset, endpoint, status, count(*) FILTER (attempts > 0)::INT AS requests,
         sum(attempts)::INT AS attempts, sum("rows")::DOUBLE AS rows
       FROM raw.requests WHERE run_id = $1 GROUP BY ALL HAVING requests > 0 ORDER BY ALL`,
    ),
    failures: await of(
      `SELECT status, http_status, reason, count(*)::INT AS requests, sum(len(symbols))::INT AS symbols
       FROM raw.requests WHERE run_id = $1 AND status IN ('refused', 'failed')
       GROUP BY ALL ORDER BY symbols DESC, reason`,
    ),
    windows: await of(
      `SELECT dataset, min(window_start) AS start, max(window_end) AS end, count(DISTINCT symbol)::INT AS symbols
       FROM (SELECT dataset, window_start, window_end, unnest(symbols) AS symbol FROM raw.requests
         WHERE run_id = $1 AND status IN ('answered', 'empty') AND window_start IS NOT NULL)
       GROUP BY dataset ORDER BY dataset`,
    ),
    absent: await of(
      `WITH asked AS (SELECT dataset, unnest(symbols) AS symbol, absent FROM raw.requests
         WHERE run_id = $1 AND status IN ('answered', 'empty')),
       missing AS (SELECT dataset, symbol FROM asked GROUP BY ALL HAVING bool_and(list_contains(absent, symbol)))
       SELECT dataset, list(symbol ORDER BY symbol) AS symbols FROM missing GROUP BY dataset ORDER BY dataset`,
    ),
    changes: await referenceChanges(reader, {
      since: run.started_at.getTime(),
      until: run.finished_at.getTime(),
    }),
    rejects: await of(
      `SELECT dataset, rule, sum(coalesce(bars, 1))::INT AS rows, any_value(reason) AS example
       FROM raw.rejects WHERE run_id = $1 GROUP BY dataset, rule ORDER BY rows DESC, rule`,
    ),
  };
}

async function findRun(reader: Session, prefix: string): Promise<RunRow> {
  const found = await reader.json<RunRow>(
    "SELECT * EXCLUDE (month) FROM raw.runs WHERE starts_with(run_id, $1) ORDER BY run_id DESC LIMIT 4",
    [prefix],
  );
  const [run] = found;
  if (run !== undefined && found.length === 1) return run;
  throw new UsageError(
    run === undefined ? `run ${prefix} is not known` : `run ${prefix} is the beginning of several runs' ids`,
    {
      hint:
        run === undefined
          ? "barlake runs lists them"
          : `give more of it: ${found.map(({ run_id }) => run_id).join(", ")}`,
    },
  );
}

/** The last run of each pipeline, by name. A run that was interrupted or killed counts only if there is no other run. */
export async function lastRuns(lake: Lake, options: object = {}): Promise<Map<string, LastRun>> {
  const snapshot = await lake.snapshot(RUNS);
  const rows = await withSmallSession(async (session) => {
    const runs = await parquetRelation(session, lake.filesOf(snapshot));
    return session.json<Omit<LastRun, "lastSuccessAt"> & { pipeline: string; success: number | null }>(
      `SELECT pipeline, status, epoch_ms(started_at)::DOUBLE AS "startedAt", epoch_ms(finished_at)::DOUBLE AS "finishedAt",
         epoch_ms(max(finished_at) FILTER (status = 'complete') OVER (PARTITION BY pipeline))::DOUBLE AS success
       FROM (${runs}) WHERE options = $1
       QUALIFY row_number() OVER (PARTITION BY pipeline ORDER BY status IN ('interrupted', 'killed'), started_at DESC) = 1`,
      [jsonParameter(options)],
    );
  }, lake.access);
  return new Map(
    rows.map(({ pipeline, success, ...last }) => [
      pipeline,
      { ...last, lastSuccessAt: success ?? undefined },
    ]),
  );
}

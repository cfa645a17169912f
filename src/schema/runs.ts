import { type Column, column, nullable, type TableSchema } from "./column.js";

/**
 * The outcome of a request unit. `empty`: a response without a row for any symbol. `lost`: not a request, but the
 * record that rows of earlier responses are no longer in the lake.
 */
export const REQUEST_STATUSES = ["answered", "empty", "refused", "failed", "lost"] as const;
export type RequestStatus = (typeof REQUEST_STATUSES)[number];

/** The names of the reasons; `plan/absence/absence` says what follows from each. */
export const ABSENCE_REASONS = [
  "others_came",
  "not_yet",
  "ended",
  "no_session",
  "suspended",
  "unavailable",
  "unexplained",
  "set_aside",
] as const;
/** Why requested bars are absent. */
export type AbsenceReason = (typeof ABSENCE_REASONS)[number];

export const REQUESTS: TableSchema = {
  name: "requests",
  doc: "The ledger of everything that was asked of a service, and what came back. Key: run_id, request_id.",
  columns: [
    column("run_id", "string", "Identifies the run."),
    column("request_id", "string", "Identifies the request within the run."),
    column("pipeline", "string", "Pipeline that asked."),
    column("dataset", "string", "Table that the response lands in."),
    column("endpoint", "string", "Method and path."),
    column("symbols", "string[]", "Symbols, universe ids or exchanges that were asked for."),
    nullable("window_start", "timestamp", "Start of the window, inclusive; null for a snapshot.", "UTC"),
    nullable("window_end", "timestamp", "End of the window, exclusive.", "UTC"),
    nullable(
      "final_end",
      "timestamp",
      "End of what was final when asked: bars before it need not be requested again.",
      "UTC",
    ),
    column("asked_at", "timestamp", "When the request was sent.", "UTC"),
    column(
      "status",
      "string",
      "answered, empty, refused or failed; lost: a repair found that rows of earlier responses are lost.",
    ),
    nullable("http_status", "int32", "Status of the last response."),
    column("attempts", "int32", "How often it was sent."),
    column("rows", "int64", "Bars or records received."),
    column("rejected", "int64", "Bars or records set aside."),
    column("bytes", "int64", "Size of the response, uncompressed.", "bytes"),
    column("duration_ms", "int64", "From the first byte sent to the last byte decoded.", "ms"),
    column("absent", "string[]", "Symbols that were asked for and are not in the response."),
    nullable(
      "reason",
      "string",
      `Why it was refused or failed, or why symbols are absent: ${ABSENCE_REASONS.join(", ")}.`,
    ),
    column("month", "date", "First day of the month (UTC) in which it was asked."),
  ],
  key: ["run_id", "request_id"],
  sort: ["dataset", "asked_at", "request_id"],
  partition: ["month"],
  stats: ["run_id", "dataset", "asked_at"],
  known: { by: "log", at: "asked_at" },
};

/**
 * How a run ended. `complete`: everything requested arrived, or its absence is explained. `partial`: some of it
 * arrived. `refused`: the service refused all requests. `failed`: nothing arrived, or it could not be landed.
 * `interrupted`: the run was stopped from outside. `killed`: its process ended without a word, which a later run has found;
 * its counts are those of the ledger and of its commits.
 */
export const RUN_STATUSES = ["complete", "partial", "refused", "failed", "interrupted", "killed"] as const;
/** How a run ended; {@link RUN_STATUSES} explains each. */
export type RunStatus = (typeof RUN_STATUSES)[number];

const counts = (columns: Readonly<Record<string, string>>): Column[] =>
  Object.entries(columns).map(([name, doc]) => ({ name, type: "int64", doc }));

export const RUNS: TableSchema = {
  name: "runs",
  doc: "Every run of a pipeline, and what came of it. Key: run_id.",
  columns: [
    column("run_id", "string", "Identifies the run; ids sort by time."),
    column("pipeline", "string", "Pipeline that ran."),
    column("started_at", "timestamp", "When it began.", "UTC"),
    column(
      "finished_at",
      "timestamp",
      "When everything that it received had landed; of a killed run, its last sign of life.",
      "UTC",
    ),
    { name: "status", type: "string", doc: `${RUN_STATUSES.join(", ")}.` },
    nullable("stopped", "string", "Why it ended before its end, where it did."),
    ...counts({
      requests_planned: "Requests that it meant to send.",
      requests_sent: "Requests that it sent; repeats of one are not counted.",
      requests_answered: "Requests that were answered with rows.",
      requests_empty: "Requests that were answered without any row.",
      requests_refused: "Requests that the service refused.",
      requests_failed: "Requests without a valid response.",
      rows: "Bars or records received.",
      rejected: "Rows, or parts of responses, that were set aside.",
    }),
    column("bytes", "int64", "Size of the responses, uncompressed.", "bytes"),
    ...counts({
      inserted: "Rows that no table had yet.",
      updated: "Rows whose content had changed.",
      unchanged: "Rows that the tables already had, just so; 0 of a killed run.",
    }),
    column("host", "string", "Host of the service, and its port."),
    column("engine", "string", "Program and version that ran it."),
    column("options", "string", "What the caller requested in addition to the pipeline, as JSON text."),
    column("month", "date", "First day of the month (UTC) in which it began."),
  ],
  key: ["run_id"],
  sort: ["run_id"],
  partition: ["month"],
  stats: ["run_id", "started_at"],
  known: { by: "log", at: "finished_at" },
};

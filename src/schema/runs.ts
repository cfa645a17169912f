import type { Column, TableSchema } from "./column.js";

/**
 * The outcome of a request unit. `empty`: a response without a row for any symbol. `lost`: not a request, but the
 * record that rows of earlier responses are no longer in the lake.
 */
export const REQUEST_STATUSES = ["answered", "empty", "refused", "failed", "lost"] as const;
export type RequestStatus = (typeof REQUEST_STATUSES)[number];

export const REQUESTS: TableSchema = {
  name: "requests",
  doc: "The ledger of everything that was asked of a service, and what came back. Key: run_id, request_id.",
  columns: [
    { name: "run_id", type: "string", doc: "Identifies the run." },
    { name: "request_id", type: "string", doc: "Identifies the request within the run." },
    { name: "pipeline", type: "string", doc: "Pipeline that asked." },
    { name: "dataset", type: "string", doc: "Table that the response lands in." },
    { name: "endpoint", type: "string", doc: "Method and path." },
    { name: "symbols", type: "string[]", doc: "Symbols, universe ids or exchanges that were asked for." },
    {
      name: "window_start",
      type: "timestamp",
      nullable: true,
      unit: "UTC",
      doc: "Start of the window, inclusive; null for a snapshot.",
    },
    {
      name: "window_end",
      type: "timestamp",
      nullable: true,
      unit: "UTC",
      doc: "End of the window, exclusive.",
    },
    {
      name: "final_end",
      type: "timestamp",
      nullable: true,
      unit: "UTC",
      doc: "End of what was final when asked: bars before it need not be requested again.",
    },
    { name: "asked_at", type: "timestamp", unit: "UTC", doc: "When the request was sent." },
    {
      name: "status",
      type: "string",
      doc: "answered, empty, refused or failed; lost: a repair found that rows of earlier responses are lost.",
    },
    { name: "http_status", type: "int32", nullable: true, doc: "Status of the last response." },
    { name: "attempts", type: "int32", doc: "How often it was sent." },
    { name: "rows", type: "int64", doc: "Bars or records received." },
    { name: "rejected", type: "int64", doc: "Bars or records set aside." },
    { name: "bytes", type: "int64", unit: "bytes", doc: "Size of the response, uncompressed." },
    {
      name: "duration_ms",
      type: "int64",
      unit: "ms",
      doc: "From the first byte sent to the last byte decoded.",
    },
    { name: "absent", type: "string[]", doc: "Symbols that were asked for and are not in the response." },
    {
      name: "reason",
      type: "string",
      nullable: true,
      doc: "Why it was refused or failed, or why symbols are absent: others_came, not_yet, begins_late, ended, as_before, no_minutes, no_session, suspended, no_bars, unexplained, set_aside.",
    },
    { name: "month", type: "date", doc: "First day of the month (UTC) in which it was asked." },
  ],
  key: ["run_id", "request_id"],
  sort: ["dataset", "asked_at", "request_id"],
  partition: ["month"],
  stats: ["run_id", "dataset", "asked_at"],
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
    { name: "run_id", type: "string", doc: "Identifies the run; ids sort by time." },
    { name: "pipeline", type: "string", doc: "Pipeline that ran." },
    { name: "started_at", type: "timestamp", unit: "UTC", doc: "When it began." },
    {
      name: "finished_at",
      type: "timestamp",
      unit: "UTC",
      doc: "When everything that it received had landed; of a killed run, its last sign of life.",
    },
    { name: "status", type: "string", doc: `${RUN_STATUSES.join(", ")}.` },
    { name: "stopped", type: "string", nullable: true, doc: "Why it ended before its end, where it did." },
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
    { name: "bytes", type: "int64", unit: "bytes", doc: "Size of the responses, uncompressed." },
    ...counts({
      inserted: "Rows that no table had yet.",
      updated: "Rows whose content had changed.",
      unchanged: "Rows that the tables already had, just so; 0 of a killed run.",
    }),
    { name: "host", type: "string", doc: "Host of the service, and its port." },
    { name: "engine", type: "string", doc: "Program and version that ran it." },
    {
      name: "options",
      type: "string",
      doc: "What the caller requested in addition to the pipeline, as JSON text.",
    },
    { name: "month", type: "date", doc: "First day of the month (UTC) in which it began." },
  ],
  key: ["run_id"],
  sort: ["run_id"],
  partition: ["month"],
  stats: ["run_id", "started_at"],
};

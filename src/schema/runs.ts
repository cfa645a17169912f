import type { Column, TableSchema } from "./column.js";

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

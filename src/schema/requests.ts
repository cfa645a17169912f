import type { TableSchema } from "./column.js";

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

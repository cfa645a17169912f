import { pino } from "pino";
import { systemClock } from "../../client/system-clock.js";
import { BarlakeError, messageOf } from "../../core/errors.js";
import { groupBy } from "../../core/group-by.js";
import type { Pipeline } from "../../jobs/pipeline/definition.js";
import type { RunOutcome } from "../../jobs/run/report/run-history.js";
import type { ScheduleEvent } from "../../jobs/schedule/run-schedule.js";
import { type ScheduleRule, zoneOf } from "../../plan/due-times.js";
import { inOptionWords } from "../error-text.js";
import { count, duration, paint, plural, size } from "../text.js";
import { scrubText } from "./check-text.js";

/** A pipeline's schedule in words: "18:30 Shanghai, 21:30 New York on trading days". */
export function scheduleText(rules: readonly ScheduleRule[]): string {
  if (rules.length === 0) return "never";
  const byDays = groupBy(rules, (rule) =>
    rule.days === "trading" ? " on trading days" : "cron" in rule ? "" : " every day",
  );
  return [...byDays].map(([days, own]) => `${own.map(timesText).join(", ")}${days}`).join("; ");
}

function timesText(rule: ScheduleRule): string {
  const times = "cron" in rule ? `cron ${rule.cron}` : rule.at.join(" and ");
  return `${times} ${zoneOf(rule.region).split("/").at(-1)?.replaceAll("_", " ")}`;
}

export function windowText(pipeline: Pipeline): string {
  switch (pipeline.kind) {
    case "reference":
      return `a snapshot every ${pipeline.refreshHours} h`;
    case "statements":
      return `all, every ${pipeline.refreshHours} h`;
    case "intraday":
      return "the latest day";
    case "files":
      return `${pipeline.from.replace(/\/+$/, "")}/${pipeline.pattern}`;
    case "bars": {
      const { from, to, lookback } = pipeline;
      const start = from.startsWith("-")
        ? `the last ${Number.parseInt(from.slice(1), 10)} days`
        : `from ${from}`;
      return `${start}${to === undefined ? "" : ` to ${to}`}${lookback === undefined ? "" : `, ${lookback} again`}`;
    }
  }
}

/** An instant for people: 2026-11-20 10:30:00, in UTC. */
export function instantText(at: number | Date | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString().slice(0, 19).replace("T", " ");
}

interface ScheduleLog {
  event(event: ScheduleEvent): void;
  note(facts: object, message: string): void;
  warn(facts: object, message: string): void;
}

/** Maximum number of a run's failures on a line. */
const SHOWN = 3;

/** Lines for people on a terminal; otherwise JSON lines. Both go to standard error. */
export function scheduleLog(): ScheduleLog {
  return process.stderr.isTTY ? terminalLog() : jsonLog();
}

function jsonLog(): ScheduleLog {
  const log = pino({ name: "barlake" }, pino.destination({ dest: 2, sync: true }));
  return {
    note: (facts, message) => log.info(facts, message),
    warn: (facts, message) => log.warn(facts, message),
    event(event) {
      if (isQuiet(event)) return;
      switch (event.kind) {
        case "waiting":
          return log.info(
            { next: event.next.map(({ pipeline, at }) => ({ pipeline, at: iso(at) })) },
            "waiting",
          );
        case "started":
          return log.info({ pipeline: event.pipeline, due: iso(event.dueAt) }, "run started");
        case "ended":
          return log[levelOf(event.outcome)](
            { ...factsOf(event.outcome), ...bugOf(event.error) },
            "run ended",
          );
        case "vacuumed": {
          const { done } = event;
          const errors = done.errors.map(messageOf);
          return log[errors.length > 0 ? "error" : "info"]({ ...vacuumCounts(done), errors }, "vacuumed");
        }
        case "vacuum failed":
          return log.error({ err: event.error }, "old files could not be deleted");
        case "scrubbed": {
          const { verifiedSince, ...facts } = event.report;
          const since = verifiedSince === undefined ? {} : { verifiedSince: iso(verifiedSince) };
          return log[facts.damaged.length > 0 ? "error" : "info"]({ ...facts, ...since }, "files verified");
        }
        case "scrub failed":
          return log.error({ err: event.error }, "files could not be verified");
      }
    },
  };
}

function terminalLog(): ScheduleLog {
  const say = (text: string): void => {
    process.stderr.write(`${paint("dim", String(instantText(systemClock.now())))} ${text}\n`);
  };
  return {
    note: (facts, message) => say(`${message} ${Object.values(facts).join(" ")}`),
    warn: (facts, message) => say(paint("yellow", `${message} ${Object.values(facts).join(" ")}`)),
    event(event) {
      if (isQuiet(event)) return;
      switch (event.kind) {
        case "waiting":
          return say(
            `next: ${event.next.map(({ pipeline, at }) => `${pipeline} ${instantText(at)} UTC`).join(", ") || "nothing"}`,
          );
        case "started":
          return say(`${paint("bold", event.pipeline)} started`);
        case "ended":
          return say(endText(event.outcome));
        case "vacuumed":
          return say(vacuumText(event.done));
        case "vacuum failed":
          return say(paint("red", `old files could not be deleted: ${messageOf(event.error)}`));
        case "scrubbed":
          return say(scrubText(event.report));
        case "scrub failed":
          return say(paint("red", `files could not be verified: ${messageOf(event.error)}`));
      }
    },
  };
}

/** A day on which no file was due to be deleted or verified. */
function isQuiet(event: ScheduleEvent): boolean {
  if (event.kind === "vacuumed") {
    const { files, logEntries } = vacuumCounts(event.done);
    return files + logEntries + event.done.errors.length === 0;
  }
  return event.kind === "scrubbed" && event.report.files === 0 && event.report.damaged.length === 0;
}

type Vacuumed = (ScheduleEvent & { readonly kind: "vacuumed" })["done"];

function vacuumCounts({ reports }: Vacuumed): Readonly<Record<"files" | "bytes" | "logEntries", number>> {
  const all = reports.flatMap(({ deleted }) => deleted);
  return {
    files: all.length,
    bytes: all.reduce((sum, file) => sum + file.size, 0),
    logEntries: reports.reduce((sum, one) => sum + one.logEntries, 0),
  };
}

function vacuumText(done: Vacuumed): string {
  const { files, bytes, logEntries } = vacuumCounts(done);
  const text = `deleted what only old versions need: ${plural(files, "file")}, ${size(bytes)}, ${count(logEntries)} of the logs`;
  const errors = done.errors.map((error) => `; ${paint("red", messageOf(error))}`);
  return [text, ...errors].join("");
}

function endText(outcome: RunOutcome): string {
  const { pipeline, status, requests, rows, bytes, failures, stopped } = outcome;
  const took = duration(outcome.finishedAt - outcome.startedAt);
  const reason = stopped ?? failures[0]?.reason;
  return [
    `${paint("bold", pipeline)} ${paint(status === "complete" ? "green" : "red", status)} in ${took}: `,
    `${plural(requests.sent, "request")}, ${plural(rows, "row")}, ${size(bytes)}, ${count(changed(outcome))} landed`,
    reason === undefined ? "" : `; ${inOptionWords(reason)}`,
    ...(outcome.compaction?.faults ?? []).map((fault) => `; not compacted: ${fault}`),
  ].join("");
}

function factsOf(outcome: RunOutcome): object {
  const { pipeline, runId, status, stopped, requests, rows, bytes, failures, landed, compaction } = outcome;
  const durationMs = outcome.finishedAt - outcome.startedAt;
  const changes = landed.map(({ table, inserted, updated, unchanged }) => ({
    table,
    inserted,
    updated,
    unchanged,
  }));
  const bad = failures.length === 0 ? {} : { failures: failures.slice(0, SHOWN) };
  const more = { ...bad, ...(compaction && { compaction }) };
  return { pipeline, runId, status, stopped, durationMs, requests, rows, bytes, landed: changes, ...more };
}

/** An unexpected error, for a log with its stack; empty for a {@link BarlakeError}. */
function bugOf(error: unknown): object {
  return error instanceof Error && !(error instanceof BarlakeError) ? { err: error } : {};
}

function changed({ landed }: RunOutcome): number {
  return landed.reduce((sum, { inserted, updated }) => sum + inserted + updated, 0);
}

function levelOf({ status }: RunOutcome): "info" | "warn" | "error" {
  switch (status) {
    case "complete":
    case "interrupted":
      return "info";
    case "partial":
      return "warn";
    case "refused":
    case "failed":
    case "killed":
      return "error";
  }
}

function iso(at: number): string {
  return new Date(at).toISOString();
}

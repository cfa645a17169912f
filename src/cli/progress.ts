import { createRequire } from "node:module";
import type { SingleBar } from "cli-progress";
import type { Logger } from "pino";
import { systemClock } from "../client/system-clock.js";
import { MINUTE_MS } from "../core/time.js";
import type { Progress as RunProgress } from "../jobs/run/report/run-progress.js";
import type { QuotaState } from "../plan/quota/rate.js";
import { count, duration, size } from "./text.js";

/** The progress of a command. */
export interface Progress {
  readonly done: number;
  readonly total: number;
  /** What is counted: requests, files, steps; `%` of the work. */
  readonly unit: string;
  readonly rows: number;
  readonly bytes?: number;
  /** The current work, in a few words. */
  readonly doing: string;
  /** Parts that are shown separately, if there are several. */
  readonly parts?: readonly {
    readonly name: string;
    readonly done: number;
    readonly total: number;
    readonly rows: number;
  }[];
  /** The state of a key's quota. */
  readonly quota?: QuotaState | undefined;
}

export interface ProgressView {
  update(progress: Progress): void;
  stop(): void;
}

/** Time between two lines where there is no terminal. */
const LINE_EVERY_MS = 5000;
/** Time after which the bar is drawn again without new progress, because its times change. */
const DRAW_EVERY_MS = 1000;
/** Width of a bar; in a terminal that is narrower than {@link ROOMY}, half of it. */
const BAR_WIDTH = 24;
const ROOMY = 100;

/**
 * A bar with rate and time left on a terminal; lines on standard error otherwise.
 *
 * @param lines text for people, or JSON for programs. @default "text"
 * @param first what is done before the first progress; a terminal shows it after a second.
 */
export function progressView(
  title: string,
  lines: "json" | "text" = "text",
  first = "starting",
): ProgressView {
  if (process.stderr.isTTY) return barView(title, first);
  return lineView(lines === "json" ? jsonLines(title) : textLines(title));
}

/** The progress of a command: none on a terminal where its result is JSON; in a pipe, lines of JSON then. */
export function viewOf(title: string, { json }: { readonly json?: boolean }): ProgressView | undefined {
  if (json && process.stderr.isTTY) return undefined;
  return progressView(title, json ? "json" : "text");
}

function barView(title: string, first: string): ProgressView {
  const startedAt = performance.now();
  const { MultiBar } = createRequire(import.meta.url)("cli-progress") as typeof import("cli-progress");
  const bars = new MultiBar({
    stream: process.stderr,
    hideCursor: true,
    clearOnComplete: true,
    format: (_, __, { text = "" }: { text?: string }) => text,
  });
  const lines: SingleBar[] = [];
  const draw = (texts: readonly string[]): void => {
    const isFirst = lines.length === 0;
    for (const [index, text] of texts.entries()) {
      const bar = (lines[index] ??= bars.create(1, 0));
      bar.update(0, { text });
    }
    // The next drawing waits for a timer, and the work that begins may leave it no time.
    if (isFirst) bars.update();
  };
  let latest: Progress = { done: 0, total: 0, unit: "", rows: 0, doing: first };
  const show = (): void => {
    const elapsedMs = performance.now() - startedAt;
    const { parts = [] } = latest;
    // A line of the terminal's whole width would begin another one.
    const width = (process.stderr.columns || 80) - 1;
    draw([
      progressLine(title, latest, elapsedMs, systemClock.now(), width),
      ...(parts.length > 1 ? parts.map((part) => partLine(part, width)) : []),
    ]);
  };
  const timer = setInterval(show, DRAW_EVERY_MS).unref();
  return {
    update: (progress) => {
      latest = progress;
      show();
    },
    stop: () => {
      clearInterval(timer);
      if (lines.splice(0).length > 0) bars.stop();
    },
  };
}

/**
 * The line that a terminal shows. Where it is too narrow for all facts, the less important ones are left out, each as a
 * whole.
 *
 * @param elapsedMs time since the command began. @param now epoch milliseconds. @param width columns of the terminal.
 */
export function progressLine(
  title: string,
  progress: Progress,
  elapsedMs: number,
  now: number,
  width = Number.POSITIVE_INFINITY,
): string {
  const head = `   ${title.padEnd(10)} ${barText(progress, width)} `;
  return head + joined(factsOf(progress, elapsedMs, now), width - head.length);
}

/** The line without a bar, for a standard error that is no terminal. Parameters as of {@link progressLine}. */
export function plainLine(title: string, progress: Progress, elapsedMs: number, now: number): string {
  return `   ${title.padEnd(10)} ${joined(factsOf(progress, elapsedMs, now), Number.POSITIVE_INFINITY)}`;
}

interface Fact {
  readonly text: string;
  /** Facts with a lower rank are left out first. */
  readonly rank: number;
}

function factsOf(progress: Progress, elapsedMs: number, now: number): Fact[] {
  const { done, total, unit, rows, bytes = 0, quota, doing } = progress;
  const facts: Fact[] = [];
  if (total > 0) {
    const text = unit === "%" ? `${Math.floor(done)} %` : `${count(done)}/${count(total)} ${unit}`;
    facts.push({ text, rank: 7 });
  }
  const left = timeLeft(progress, elapsedMs);
  if (left !== undefined) facts.push({ text: `${duration(left)} left`, rank: 6 });
  if (rows > 0) {
    facts.push({ text: `${count(rows)} rows`, rank: 2 });
    facts.push({ text: `${count((rows / elapsedMs) * 1000)} rows/s`, rank: 3 });
  }
  if (bytes > 0) facts.push({ text: size(bytes), rank: 1 });
  if (quota !== undefined) facts.push({ text: quotaText(quota, now), rank: 4 });
  if (doing !== "") facts.push({ text: doing, rank: 5 });
  return facts;
}

/** Joins the facts that fit into a width; if a single one is left, its beginning. */
function joined(facts: readonly Fact[], width: number): string {
  const text = facts.map((fact) => fact.text).join(" · ");
  if (text.length <= width) return text;
  if (facts.length <= 1) return `${text.slice(0, Math.max(0, width - 1))}…`;
  const least = Math.min(...facts.map(({ rank }) => rank));
  return joined(
    facts.filter(({ rank }) => rank > least),
    width,
  );
}

type Part = NonNullable<Progress["parts"]>[number];

function partLine({ name, done, total, rows }: Part, width: number): string {
  const head = `   ${name.padEnd(18)} ${barText({ done, total }, width)} `;
  const facts = [
    { text: `${count(done)}/${count(total)}`, rank: 2 },
    { text: `${count(rows)} rows`, rank: 1 },
  ];
  return head + joined(facts, width - head.length);
}

function barText({ done, total }: Pick<Progress, "done" | "total">, width: number): string {
  const cells = width < ROOMY ? BAR_WIDTH / 2 : BAR_WIDTH;
  const full = total > 0 ? Math.round(Math.min(1, done / total) * cells) : 0;
  return "█".repeat(full) + "░".repeat(cells - full);
}

/** Estimated from the speed so far and the quota's limit; undefined if there is no estimate. */
function timeLeft({ done, total, quota }: Progress, elapsedMs: number): number | undefined {
  if (done === 0 || done >= total) return undefined;
  const permitted = quota?.limit === undefined ? 0 : ((total - done) / quota.limit) * MINUTE_MS;
  return Math.max(permitted, (elapsedMs / done) * (total - done));
}

function quotaText({ limit, usedLastMinute, waitingUntil }: QuotaState, now: number): string {
  const used =
    limit === undefined
      ? `${usedLastMinute} in the last minute`
      : `quota ${usedLastMinute} used, ${Math.max(0, limit - usedLastMinute)} left`;
  const wait = (waitingUntil ?? 0) - now;
  return wait > 0 ? `${used}, next in ${duration(wait)}` : used;
}

/** Writes at most one line each {@link LINE_EVERY_MS}. */
function lineView(write: (progress: Progress) => void): ProgressView {
  let last = performance.now();
  return {
    update: (progress) => {
      if (performance.now() - last < LINE_EVERY_MS) return;
      last = performance.now();
      write(progress);
    },
    stop: () => {},
  };
}

function jsonLines(title: string): (progress: Progress) => void {
  let log: Logger | undefined;
  return (progress) => {
    log ??= openLog(title);
    log.info(progress, "progress");
  };
}

/** Opens the log with its first line: most commands end before that. */
function openLog(title: string): Logger {
  const { pino } = createRequire(import.meta.url)("pino") as typeof import("pino");
  return pino({ name: "barlake", base: { run: title } }, pino.destination({ dest: 2, sync: true }));
}

function textLines(title: string): (progress: Progress) => void {
  const startedAt = performance.now();
  return (progress) => {
    const elapsedMs = performance.now() - startedAt;
    process.stderr.write(`${plainLine(title, progress, elapsedMs, systemClock.now())}\n`);
  };
}

/** Shows the progress of a run. @param unit what it counts. @default "requests" */
export function showRun(view: ProgressView | undefined, unit = "requests"): (progress: RunProgress) => void {
  return ({ requestsDone, requestsTotal, tables, ...rest }) =>
    view?.update({
      ...rest,
      done: requestsDone,
      total: requestsTotal,
      unit,
      parts: tables.map((one) => ({
        name: one.table,
        done: one.requestsDone,
        total: one.requestsTotal,
        rows: one.rows,
      })),
    });
}

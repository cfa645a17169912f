import { MultiBar, type SingleBar } from "cli-progress";
import { pino } from "pino";
import type { QuotaState } from "../../client/quota-gate.js";
import { systemClock } from "../../client/system-clock.js";
import { MINUTE_MS } from "../../core/time.js";
import type { Progress as RunProgress } from "../../jobs/run/report/run-progress.js";
import { count, duration, size } from "./text.js";

/** The progress of a command. */
export interface Progress {
  readonly done: number;
  readonly total: number;
  /** What is counted: requests, files, steps. */
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

/** Shows the progress of a command. */
export interface ProgressView {
  update(progress: Progress): void;
  stop(): void;
}

/** Time between two lines where there is no terminal. */
const LINE_EVERY_MS = 5000;
/** Time after which the bar is drawn again without new progress, because its times change. */
const DRAW_EVERY_MS = 1000;
const BAR_WIDTH = 24;

/**
 * A bar with rate and time left on a terminal; lines on standard error otherwise.
 *
 * @param lines JSON for programs, or text for people. @default "json"
 */
export function progressView(title: string, lines: "json" | "text" = "json"): ProgressView {
  if (process.stderr.isTTY) return barView(title);
  return lineView(lines === "json" ? jsonLines(title) : textLines(title));
}

function barView(title: string): ProgressView {
  const startedAt = performance.now();
  const bars = new MultiBar({
    stream: process.stderr,
    hideCursor: true,
    clearOnComplete: true,
    format: (_, __, { text = "" }: { text?: string }) => text,
  });
  const lines: SingleBar[] = [];
  const draw = (texts: readonly string[]): void => {
    for (const [index, text] of texts.entries()) {
      const bar = (lines[index] ??= bars.create(1, 0));
      bar.update(0, { text });
    }
  };
  let latest: Progress | undefined;
  const show = (): void => {
    if (latest === undefined) return;
    const elapsedMs = performance.now() - startedAt;
    const { parts = [] } = latest;
    draw([
      progressLine(title, latest, elapsedMs, systemClock.now()),
      ...(parts.length > 1 ? parts.map((part) => partLine(part)) : []),
    ]);
  };
  const timer = setInterval(show, DRAW_EVERY_MS).unref();
  return {
    update: (progress) => {
      latest = progress;
      show();
    },
    stop: () => {
      if (latest === undefined) return;
      latest = undefined;
      clearInterval(timer);
      bars.stop();
    },
  };
}

/**
 * The line that a terminal shows.
 *
 * @param elapsedMs time since the command began. @param now epoch milliseconds.
 */
export function progressLine(title: string, progress: Progress, elapsedMs: number, now: number): string {
  const bar = barText(progress.done, progress.total);
  return `   ${title.padEnd(10)} ${bar} ${factsText(progress, elapsedMs, now)}`;
}

/** The line without a bar, for a standard error that is no terminal. Parameters as of {@link progressLine}. */
export function plainLine(title: string, progress: Progress, elapsedMs: number, now: number): string {
  return `   ${title.padEnd(10)} ${factsText(progress, elapsedMs, now)}`;
}

function factsText(progress: Progress, elapsedMs: number, now: number): string {
  const { done, total, unit, rows, bytes = 0, quota, doing } = progress;
  const facts = [`${count(done)}/${count(total)} ${unit}`];
  const left = timeLeft(progress, elapsedMs);
  if (left !== undefined) facts.push(`${duration(left)} left`);
  if (rows > 0) facts.push(`${count(rows)} rows`, `${count((rows / elapsedMs) * 1000)} rows/s`);
  if (bytes > 0) facts.push(size(bytes));
  if (quota !== undefined) facts.push(quotaText(quota, now));
  facts.push(doing);
  return facts.join(" · ");
}

function partLine({ name, done, total, rows }: NonNullable<Progress["parts"]>[number]): string {
  return `   ${name.padEnd(18)} ${barText(done, total)} ${count(done)}/${count(total)} · ${count(rows)} rows`;
}

function barText(done: number, total: number): string {
  const full = total > 0 ? Math.round(Math.min(1, done / total) * BAR_WIDTH) : 0;
  return "█".repeat(full) + "░".repeat(BAR_WIDTH - full);
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
  const log = pino({ name: "barlake", base: { run: title } }, pino.destination({ dest: 2, sync: true }));
  return (progress) => log.info(progress, "progress");
}

function textLines(title: string): (progress: Progress) => void {
  const startedAt = performance.now();
  return (progress) => {
    const elapsedMs = performance.now() - startedAt;
    process.stderr.write(`${plainLine(title, progress, elapsedMs, systemClock.now())}\n`);
  };
}

/** Shows the progress of an ingest. */
export function showRun(view: ProgressView | undefined): (progress: RunProgress) => void {
  return ({ requestsDone, requestsTotal, tables, ...rest }) =>
    view?.update({
      ...rest,
      done: requestsDone,
      total: requestsTotal,
      unit: "requests",
      parts: tables.map((one) => ({
        name: one.table,
        done: one.requestsDone,
        total: one.requestsTotal,
        rows: one.rows,
      })),
    });
}

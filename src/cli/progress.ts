import { SingleBar } from "cli-progress";
import { pino } from "pino";
import type { Progress as RunProgress } from "../jobs/ingest/run.js";
import { count, duration, size } from "./text.js";

/** How far a command has come. */
export interface Progress {
  readonly done: number;
  readonly total: number;
  /** What is counted: requests, files, steps. */
  readonly unit: string;
  readonly rows: number;
  readonly bytes?: number;
  /** What is being done, in a few words. */
  readonly doing: string;
}

/** Shows how a command goes on. */
export interface ProgressView {
  update(progress: Progress): void;
  stop(): void;
}

/** Time between two lines of a log. */
const LINE_EVERY_MS = 5000;
const BAR_WIDTH = 24;

/** A bar with rate and time left on a terminal; JSON lines on standard error otherwise. */
export function progressView(title: string): ProgressView {
  return process.stderr.isTTY ? barView(title) : logView(title);
}

function barView(title: string): ProgressView {
  const startedAt = performance.now();
  const bar = new SingleBar({
    stream: process.stderr,
    hideCursor: true,
    clearOnComplete: true,
    format: (_, { value, total }, payload: Partial<Progress>) => {
      const { unit = "", rows = 0, bytes = 0, doing = "" } = payload;
      const part = total > 0 ? Math.min(1, value / total) : 0;
      const full = Math.round(part * BAR_WIDTH);
      const elapsed = performance.now() - startedAt;
      const facts = [`${value}/${total} ${unit}`];
      if (rows > 0) facts.push(`${count(rows)} rows`, `${count((rows / elapsed) * 1000)} rows/s`);
      if (bytes > 0) facts.push(size(bytes));
      if (part > 0 && part < 1) facts.push(`${duration((elapsed / part) * (1 - part))} left`);
      facts.push(doing);
      return `   ${title.padEnd(10)} ${"█".repeat(full)}${"░".repeat(BAR_WIDTH - full)} ${facts.join(" · ")}`;
    },
  });
  bar.start(0, 0, {});
  return {
    update: (progress) => {
      bar.setTotal(progress.total);
      bar.update(progress.done, progress);
    },
    stop: () => bar.stop(),
  };
}

function logView(title: string): ProgressView {
  const log = pino({ name: "barlake", base: { run: title } }, pino.destination({ dest: 2, sync: true }));
  let last = performance.now();
  return {
    update: (progress) => {
      if (performance.now() - last < LINE_EVERY_MS) return;
      last = performance.now();
      log.info(progress, "progress");
    },
    stop: () => {},
  };
}

/** Shows the progress of an ingest. */
export function showRun(view: ProgressView | undefined): (progress: RunProgress) => void {
  return ({ requestsDone, requestsTotal, ...rest }) =>
    view?.update({ ...rest, done: requestsDone, total: requestsTotal, unit: "requests" });
}

import { SingleBar } from "cli-progress";
import { pino } from "pino";
import type { Progress } from "../jobs/ingest/run.js";
import { count, duration, size } from "./text.js";

/** Shows how a run goes on. */
export interface ProgressView {
  update(progress: Progress): void;
  stop(): void;
}

/** Time between two lines of a log. */
const LINE_EVERY_MS = 5000;

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
    format: (options, params, payload: Partial<Progress>) => {
      const part = params.total > 0 ? Math.min(1, params.value / params.total) : 0;
      const width = 24;
      const full = Math.round(part * width);
      const elapsed = performance.now() - startedAt;
      const left = part > 0 && part < 1 ? ` · ${duration((elapsed / part) * (1 - part))} left` : "";
      const rate = `${count(((payload.rows ?? 0) / Math.max(elapsed, 1)) * 1000)} rows/s`;
      const cells = `${options.barCompleteString?.slice(0, full)}${options.barIncompleteString?.slice(0, width - full)}`;
      return `${title} ${cells} ${params.value}/${params.total} requests · ${count(payload.rows ?? 0)} rows · ${size(payload.bytes ?? 0)} · ${rate}${left} · ${payload.doing ?? ""}`;
    },
  });
  bar.start(0, 0, {});
  return {
    update: (progress) => {
      bar.setTotal(progress.requestsTotal);
      bar.update(progress.requestsDone, progress);
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

import type { QueryEngine } from "../db/query-engine.js";
import { progressView } from "./progress.js";
import { duration } from "./text.js";

export interface QueryProgress {
  /** Runs `work`, which waits for a statement. Nothing else may be written to standard error until it ends. */
  during<T>(work: () => Promise<T>): Promise<T>;
}

/** A statement that ends within this time has no bar. */
const SHOWN_AFTER_MS = 1000;
const DRAW_EVERY_MS = 250;
const LEAST_PERCENTAGE = 1;

/** Above it everything is read, but sorting or writing may take long: the time left is unknown. */
const MOST_PERCENTAGE = 98;

const totalOf = (percentage: number): number => (percentage > MOST_PERCENTAGE ? percentage : 100);

/** For an engine that does not know how far it is. */
export const NO_PROGRESS: QueryProgress = { during: (work) => work() };

/** A bar for statements that take longer than a second; lines, after five, where standard error is no terminal. */
export function queryProgress(engine: QueryEngine): QueryProgress {
  if (engine.progress === undefined) return NO_PROGRESS;
  return {
    async during(work) {
      const startedAt = performance.now();
      const view = progressView("query", "text", "running");
      const timer = setInterval(() => {
        const elapsedMs = performance.now() - startedAt;
        if (elapsedMs < SHOWN_AFTER_MS) return;
        const { percentage, rows } = engine.progress?.() ?? { percentage: 0, rows: 0 };
        // Below that, DuckDB often counts only what is read first: the time left is unknown.
        view.update(
          percentage < LEAST_PERCENTAGE
            ? { done: 0, total: 0, unit: "%", rows, doing: `running for ${duration(elapsedMs)}` }
            : { done: percentage, total: totalOf(percentage), unit: "%", rows, doing: "" },
        );
      }, DRAW_EVERY_MS);
      try {
        return await work();
      } finally {
        clearInterval(timer);
        view.stop();
      }
    },
  };
}

import { constants } from "node:os";

/**
 * Ends this process by a signal, as one without handlers is: shells show 130 for Ctrl-C. `process.exit` would wait for reads
 * of DuckDB that are running, for up to two minutes where a store does not respond.
 *
 * The first process of a container, where no init runs it (`docker run --init`), is not ended by such a signal: the kernel
 * drops it. It exits with the same code.
 */
export function endAtOnce(signal: "SIGINT" | "SIGTERM"): void {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  if (process.pid === 1) process.exit(128 + constants.signals[signal]);
}

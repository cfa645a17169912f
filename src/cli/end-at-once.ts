/**
 * Ends this process by a signal, as one without handlers is: shells show 130 for Ctrl-C. `process.exit` would wait for reads
 * of DuckDB that are running, for up to two minutes where a store does not respond.
 */
export function endAtOnce(signal: "SIGINT" | "SIGTERM"): void {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

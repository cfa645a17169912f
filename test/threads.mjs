import { syncBuiltinESMExports } from "node:module";
import os from "node:os";

/**
 * Gives this process as many cores as TEST_THREADS says, so DuckDB as many threads, where a session does not name their
 * number. A thread that has no work waits in a loop for the others: in tests, which have few rows and share the cores
 * with other tests, that takes more time than the work.
 */
export function limitThreads() {
  const threads = Number(process.env.TEST_THREADS);
  if (!(threads > 0)) return;
  os.availableParallelism = () => threads;
  syncBuiltinESMExports();
}

limitThreads();

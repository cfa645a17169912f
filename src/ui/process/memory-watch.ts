import { Worker } from "node:worker_threads";

/** Milliseconds between two looks at the memory. DuckDB fills about 100 MB of memory in that time. */
const EVERY_MS = 50;
/** Milliseconds after which a process whose parent has ended is killed: by then it has deleted its folders. */
const ORPHAN_MS = 5000;

export interface MemoryWatch {
  readonly mostBytes: number;
  readonly everyMs: number;
  readonly orphanMs: number;
}

/**
 * Kills this process at once when it has more than so much memory, or when it outlives its parent. A separate thread
 * looks, so that this also happens while a function of DuckDB, or of JavaScript, does not return. It looks only while
 * something runs: each look takes a quarter of a millisecond of processor time.
 *
 * @returns reports whether anything runs. Until the first call, nothing does.
 */
export function watchMemory(mostBytes: number): (isBusy: boolean) => void {
  const workerData: MemoryWatch = { mostBytes, everyMs: EVERY_MS, orphanMs: ORPHAN_MS };
  const watch = new Worker(new URL("memory-worker.js", import.meta.url), { workerData, execArgv: [] });
  watch.unref();
  return (isBusy) => watch.postMessage(isBusy, []);
}

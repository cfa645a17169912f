import { Worker } from "node:worker_threads";

/** How often the memory is looked at, in milliseconds. DuckDB fills about 100 MB of memory in that time. */
const EVERY_MS = 50;
/** Milliseconds after which a process whose parent has ended is killed: by then it has deleted its folders. */
const ORPHAN_MS = 5000;

/** The program of the thread. It is a text, because a thread of a file would load the compiler of TypeScript in tests. */
const WATCH = `
const { workerData: { mostBytes, everyMs, orphanMs } } = require("node:worker_threads");
const parent = process.ppid;
let orphan = 0;
setInterval(() => {
  orphan = process.ppid === parent ? 0 : orphan + everyMs;
  if (process.memoryUsage.rss() > mostBytes || orphan > orphanMs) process.kill(process.pid, "SIGKILL");
}, everyMs);`;

/**
 * Kills this process at once when it has more than so much memory, or when it outlives its parent. A separate thread
 * looks, so that this also happens while a function of DuckDB, or of JavaScript, does not return.
 */
export function watchMemory(mostBytes: number): void {
  const workerData = { mostBytes, everyMs: EVERY_MS, orphanMs: ORPHAN_MS };
  new Worker(WATCH, { eval: true, workerData, execArgv: [] }).unref();
}

import { Worker } from "node:worker_threads";

/** Milliseconds between two looks at the memory. DuckDB fills about 100 MB of memory in that time. */
const BUSY_MS = 50;
/** The same while nothing runs. Each look takes a quarter of a millisecond of processor time. */
const IDLE_MS = 1000;
/** Milliseconds after which a process whose parent has ended is killed: by then it has deleted its folders. */
const ORPHAN_MS = 5000;

/** The program of the thread. It is a text, because a thread of a file would load the compiler of TypeScript in tests. */
const WATCH = `
const { parentPort, workerData: { mostBytes, idleMs, busyMs, orphanMs } } = require("node:worker_threads");
const parent = process.ppid;
let everyMs = busyMs;
let orphan = 0;
let timer;
function look() {
  orphan = process.ppid === parent ? 0 : orphan + everyMs;
  if (process.memoryUsage.rss() > mostBytes || orphan > orphanMs) process.kill(process.pid, "SIGKILL");
  timer = setTimeout(look, everyMs);
}
parentPort.on("message", (isBusy) => {
  clearTimeout(timer);
  everyMs = isBusy ? busyMs : idleMs;
  timer = setTimeout(look, everyMs);
});
look();`;

/**
 * Kills this process at once when it has more than so much memory, or when it outlives its parent. A separate thread
 * looks, so that this also happens while a function of DuckDB, or of JavaScript, does not return.
 *
 * @returns reports whether anything runs. Until the first call, it does.
 */
export function watchMemory(mostBytes: number): (isBusy: boolean) => void {
  const workerData = { mostBytes, idleMs: IDLE_MS, busyMs: BUSY_MS, orphanMs: ORPHAN_MS };
  const watch = new Worker(WATCH, { eval: true, workerData, execArgv: [] });
  watch.unref();
  return (isBusy) => watch.postMessage(isBusy, []);
}

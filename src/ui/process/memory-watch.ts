import { Worker } from "node:worker_threads";

/** Milliseconds between two looks at the memory. DuckDB fills about 100 MB of memory in that time. */
const EVERY_MS = 50;
/** Milliseconds after which a process whose parent has ended is killed: by then it has deleted its folders. */
const ORPHAN_MS = 5000;

/**
 * The program of the thread. It is a text, because a thread of a file would load the compiler of TypeScript in tests.
 */
const WATCH = `
const { parentPort, workerData: { mostBytes, everyMs, orphanMs } } = require("node:worker_threads");
const parent = process.ppid;
let orphan = 0;
let timer;
function look() {
  orphan = process.ppid === parent ? 0 : orphan + everyMs;
  if (process.memoryUsage.rss() > mostBytes || orphan > orphanMs) process.kill(process.pid, "SIGKILL");
}
parentPort.on("message", (isBusy) => {
  clearInterval(timer);
  if (isBusy) timer = setInterval(look, everyMs);
});`;

/**
 * Kills this process at once when it has more than so much memory, or when it outlives its parent. A separate thread
 * looks, so that this also happens while a function of DuckDB, or of JavaScript, does not return. It looks only while
 * something runs: each look takes a quarter of a millisecond of processor time.
 *
 * @returns reports whether anything runs. Until the first call, nothing does.
 */
export function watchMemory(mostBytes: number): (isBusy: boolean) => void {
  const workerData = { mostBytes, everyMs: EVERY_MS, orphanMs: ORPHAN_MS };
  const watch = new Worker(WATCH, { eval: true, workerData, execArgv: [] });
  watch.unref();
  return (isBusy) => watch.postMessage(isBusy, []);
}

// @ts-check
/*
 * The thread of memory-watch.ts. The programs of threads are JavaScript: Node runs them also from the sources, where it
 * would need seconds for those of TypeScript.
 */

import { parentPort, workerData } from "node:worker_threads";

/** @import { MemoryWatch } from "./memory-watch.js" */

const { mostBytes, everyMs, orphanMs } = /** @type {MemoryWatch} */ (workerData);
const parent = process.ppid;
let orphan = 0;
/** @type {NodeJS.Timeout | undefined} */
let timer;

function look() {
  orphan = process.ppid === parent ? 0 : orphan + everyMs;
  if (process.memoryUsage.rss() > mostBytes || orphan > orphanMs) process.kill(process.pid, "SIGKILL");
}

parentPort?.on("message", (/** @type {boolean} */ isBusy) => {
  clearInterval(timer);
  if (isBusy) timer = setInterval(look, everyMs);
});

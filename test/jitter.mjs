/**
 * Delays operations on files and writes to sockets at random, so that orders of events that are rare become common.
 * Node loads it before the program, in the tests and in each process that they start, where TEST_JITTER is set: the
 * longest delay in milliseconds. It changes when something happens, never what.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";

const LONGEST_MS = Number(process.env.TEST_JITTER) || 4;
// Tests may replace the global timers, and the methods of `performance`.
const { setImmediate, setTimeout } = globalThis;
const now = performance.now.bind(performance);

/** Waits for some time, for one turn of the event loop, or not at all. */
function pause() {
  const chance = Math.random();
  if (chance < 0.25) return new Promise((resolve) => setTimeout(resolve, Math.random() * LONGEST_MS));
  if (chance < 0.5) return new Promise((resolve) => setImmediate(resolve));
  return undefined;
}

/** Keeps the thread busy once in a while: operations of the thread pool go on. */
function block() {
  if (Math.random() >= 0.05) return;
  const end = now() + (Math.random() * LONGEST_MS) / 3;
  while (now() < end);
}

const ASYNC = [
  "access",
  "appendFile",
  "copyFile",
  "link",
  "lstat",
  "mkdir",
  "mkdtemp",
  "open",
  "readFile",
].concat([
  "readdir",
  "rename",
  "rm",
  "rmdir",
  "stat",
  "statfs",
  "symlink",
  "truncate",
  "unlink",
  "utimes",
  "writeFile",
]);
for (const name of ASYNC) {
  const call = fs.promises[name];
  fs.promises[name] = async (...parameters) => {
    await pause();
    const result = await call(...parameters);
    await pause();
    return result;
  };
}

for (const name of ["existsSync", "readdirSync", "readFileSync", "statSync"]) {
  const call = fs[name];
  fs[name] = Object.assign((...parameters) => {
    const result = call(...parameters);
    block();
    return result;
  }, call);
}

for (const name of ["_write", "_writev"]) {
  const call = net.Socket.prototype[name];
  net.Socket.prototype[name] = function write(...parameters) {
    const paused = pause();
    if (paused === undefined) call.apply(this, parameters);
    else void paused.then(() => call.apply(this, parameters));
  };
}

syncBuiltinESMExports();

/**
 * Delays operations on files, writes to sockets, messages between processes and threads, their start, and results of
 * DuckDB at random, so that orders of events that are rare become common. Node loads it before the program, in the tests
 * and in each process that they start, where TEST_JITTER is set: the longest delay in milliseconds; a start may take
 * thirty times as long. It changes when something happens, never what.
 */
import { ChildProcess } from "node:child_process";
import fs from "node:fs";
import { createRequire, syncBuiltinESMExports } from "node:module";
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

/** Delays the calls of a method that sends messages. Those of one sender stay in order. */
function delaySends(owner, name) {
  const call = owner[name];
  if (call === undefined) return;
  const last = new WeakMap();
  owner[name] = function send(...parameters) {
    const [before, paused] = [last.get(this), pause()];
    if (before === undefined && paused === undefined) return call.apply(this, parameters);
    const sendLater = async () => {
      await Promise.all([before, paused]);
      if (last.get(this) === sent) last.delete(this);
      // The channel may have closed since.
      if (this.connected !== false) call.apply(this, parameters);
    };
    const sent = sendLater();
    last.set(this, sent);
    return true;
  };
}
delaySends(process, "send");
delaySends(ChildProcess.prototype, "send");

/** Functions of DuckDB whose results come from another thread. */
const OF_DUCKDB = [
  "open",
  "connect",
  "query",
  "prepare",
  "execute_prepared",
  "execute_prepared_streaming",
  "extract_statements",
  "execute_pending",
  "fetch_chunk",
];
const { extensions } = createRequire(import.meta.url);
const load = extensions[".js"];
extensions[".js"] = (module, file) => {
  load(module, file);
  if (!/node-bindings[\\/]duckdb\.js$/.test(file)) return;
  // Its functions cannot be replaced.
  const loaded = module.exports;
  module.exports = Object.create(loaded);
  for (const name of OF_DUCKDB) {
    const value = async (...given) => {
      try {
        return await loaded[name](...given);
      } finally {
        await pause();
      }
    };
    Object.defineProperty(module.exports, name, { value });
  }
};

// The test's own process begins at once; those that it starts, and its threads, may begin late.
if (process.env.TEST_JITTER_STARTED !== undefined && Math.random() < 0.5)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.random() * 30 * LONGEST_MS);
process.env.TEST_JITTER_STARTED = "1";

syncBuiltinESMExports();

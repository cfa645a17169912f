import { AsyncLocalStorage } from "node:async_hooks";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import { Session } from "../../../src/db/session/session.js";
import type { BarsNote } from "../../../src/jobs/ingest/bars/landing-bars.js";
import { ResponseSpool } from "../../../src/lake/requests/response-spool.js";
import type { EventClock } from "../clock/event-clock.js";
import type { Chronicle } from "./chronicle.js";
import type { Kill } from "./fault-schedule.js";

type PointInTime = Kill["at"];
type Work = (...parameters: never[]) => Promise<unknown>;

/** Calls that change files; the others are reads. */
const WRITES = new Set(["mkdir", "open", "rename", "rm", "rmdir", "writeFile", "link", "sync"]);
const READS = ["access", "chmod", "readFile", "readdir", "realpath", "stat", "statfs", "utimes"];
/** Calls on an open file that are no events. */
const FILE_READS = ["read", "stat", "write"];
const STATEMENTS = ["run", "stream", "rows", "json", "preview"] as const;

/** The state of this process, and when it dies. */
interface Present {
  clock: EventClock;
  chronicle: Chronicle;
  kill: Kill | undefined;
  counts: Record<PointInTime, number>;
}

let present: Present | undefined;

/** Whether the current work belongs to another program: it does not count as events of this process. */
const isOther = new AsyncLocalStorage<true>();

/** Does the work of another program in this process, which does not die during it. */
export function asOther<T>(work: () => Promise<T>): Promise<T> {
  return isOther.run(true, work);
}

/** From now on the process has a clock that its files and queries hold, and dies as the kill says. */
export function live(clock: EventClock, chronicle: Chronicle, kill: Kill | undefined): void {
  const counts = { request: 0, response: 0, keep: 0, commit: 0, file: 0, statement: 0 };
  present = { clock, chronicle, kill, counts };
}

/** Reports an event of the process, which may die here. The n-th event of a kind begins with `before`. */
export function pass(step: PointInTime, when: Kill["when"]): void {
  if (present === undefined || isOther.getStore()) return;
  const { kill, counts } = present;
  if (when === "before") counts[step]++;
  if (kill?.at === step && kill.nth === counts[step] && kill.when === when)
    die(`${when} ${step} ${kill.nth}`);
}

/** Whether a kill is due during the event that has just begun. */
function isMidway(step: PointInTime): boolean {
  const { kill, counts } = present ?? {};
  if (isOther.getStore()) return false;
  return kill?.at === step && kill.nth === counts?.[step] && kill.when === "midway";
}

function die(of: string): void {
  present?.chronicle.note({ kind: "dying", at: present.clock.now(), of });
  process.kill(process.pid, "SIGKILL");
}

/**
 * Makes file operations, queries and the spooling of responses such events; each holds the clock while it runs. Their
 * behaviour stays the same. Must be called once, before anything else.
 */
export async function becomeMortal(): Promise<void> {
  const promises = fs.promises as unknown as Record<string, Work>;
  const file = await fs.promises.open(process.execPath);
  const handle = Object.getPrototypeOf(file) as Record<string, Work>;
  await file.close();
  for (const name of [...WRITES].filter((one) => one in promises)) intercept(promises, name, dying);
  for (const name of READS) intercept(promises, name, whileAlive);
  for (const name of FILE_READS) intercept(handle, name, whileAlive);
  intercept(handle, "sync", dying);
  intercept(handle, "writeFile", torn);
  // Several such processes share the machine: DuckDB gets one core.
  os.availableParallelism = () => 1;
  syncBuiltinESMExports();
  for (const name of STATEMENTS) intercept(Session.prototype as never, name, statement);
  intercept(ResponseSpool.prototype as never, "store", kept);
}

type Around = (
  name: string,
  work: () => Promise<unknown>,
  parameters: readonly unknown[],
  self: unknown,
) => Promise<unknown>;

/** Wraps a method. */
function intercept(target: Record<string, Work>, name: string, around: Around): void {
  const original = target[name] as (...parameters: unknown[]) => Promise<unknown>;
  target[name] = function intercepted(this: unknown, ...parameters: unknown[]) {
    return around(name, () => original.apply(this, parameters), parameters, this);
  };
}

async function whileAlive(_: string, work: () => Promise<unknown>): Promise<unknown> {
  const release = present?.clock.hold();
  try {
    return await work();
  } finally {
    release?.();
  }
}

/** A call that changes files: the process may die before it, during it, or after it. */
async function dying(
  name: string,
  work: () => Promise<unknown>,
  parameters: readonly unknown[],
): Promise<unknown> {
  const isCommit = name === "link" && String(parameters[1]).includes("_delta_log");
  return whileAlive(name, async () => {
    pass("file", "before");
    if (isCommit) pass("commit", "before");
    const going = work();
    if (isMidway("file")) die(`midway ${name}`);
    if (isCommit && isMidway("commit")) die("midway commit");
    const result = await going;
    if (isCommit) pass("commit", "after");
    pass("file", "after");
    return result;
  });
}

/** A write to a file that may be half done when the process dies. */
async function torn(
  name: string,
  work: () => Promise<unknown>,
  [data]: readonly unknown[],
  self: unknown,
): Promise<unknown> {
  return whileAlive(name, async () => {
    pass("file", "before");
    if (isMidway("file") && data instanceof Uint8Array) {
      fs.writeSync((self as { fd: number }).fd, data.subarray(0, data.length >> 1));
      die("half a write");
    }
    const result = await work();
    pass("file", "after");
    return result;
  });
}

async function statement(name: string, work: () => Promise<unknown>): Promise<unknown> {
  return whileAlive(name, async () => {
    pass("statement", "before");
    const going = work();
    if (isMidway("statement")) die(`midway ${name}`);
    const result = await going;
    pass("statement", "after");
    return result;
  });
}

async function kept(_: string, work: () => Promise<unknown>, [, note]: readonly unknown[]): Promise<unknown> {
  pass("keep", "before");
  const going = work();
  if (isMidway("keep")) die("midway keep");
  const result = await going;
  const { records } = (note as BarsNote).entry;
  present?.chronicle.note({ kind: "kept", at: present.clock.now(), records });
  pass("keep", "after");
  return result;
}

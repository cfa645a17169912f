import { AsyncLocalStorage } from "node:async_hooks";
import fs from "node:fs";
import type { BarsNote } from "../../../src/jobs/ingest/bars/landing-bars.js";
import { ResponseSpool } from "../../../src/lake/requests/response-spool.js";
import type { EventClock } from "../clock/event-clock.js";
import { type Around, intercept, interceptCalls } from "../clock/process-calls.js";
import type { Chronicle } from "./chronicle.js";
import type { Kill } from "./fault-schedule.js";

type PointInTime = Kill["at"];

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
  await interceptCalls(whileAlive, { write: dying, wholeFile: torn, statement });
  intercept(ResponseSpool.prototype as never, "store", kept);
}

async function whileAlive(work: () => Promise<unknown>): Promise<unknown> {
  const release = present?.clock.hold();
  try {
    return await work();
  } finally {
    release?.();
  }
}

/** A call that changes files: the process may die before it, during it, or after it. */
async function dying(
  work: () => Promise<unknown>,
  { name, parameters }: Parameters<Around>[1],
): Promise<unknown> {
  const isCommit = name === "link" && String(parameters[1]).includes("_delta_log");
  return whileAlive(async () => {
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
  work: () => Promise<unknown>,
  { parameters: [data], self }: Parameters<Around>[1],
): Promise<unknown> {
  return whileAlive(async () => {
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

async function statement(work: () => Promise<unknown>, { name }: Parameters<Around>[1]): Promise<unknown> {
  return whileAlive(async () => {
    pass("statement", "before");
    const going = work();
    if (isMidway("statement")) die(`midway ${name}`);
    const result = await going;
    pass("statement", "after");
    return result;
  });
}

async function kept(
  work: () => Promise<unknown>,
  { parameters: [, note] }: Parameters<Around>[1],
): Promise<unknown> {
  pass("keep", "before");
  const going = work();
  if (isMidway("keep")) die("midway keep");
  const result = await going;
  const { records } = (note as BarsNote).entry;
  present?.chronicle.note({ kind: "kept", at: present.clock.now(), records });
  pass("keep", "after");
  return result;
}

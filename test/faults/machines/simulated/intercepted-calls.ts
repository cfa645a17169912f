import crypto from "node:crypto";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { Session } from "../../../../src/db/session/session.js";
import type { EventClock } from "../../clock/event-clock.js";
import { interceptCalls } from "../../clock/process-calls.js";
import type { Draws } from "../../simulated-ingest/draws.js";
import { currentProcess } from "./virtual-process.js";

/**
 * From now on the calls of this process to disk and database hold the clock of the simulation and belong to the virtual
 * process whose code makes them; its intervals follow its clock, and random numbers come from `draws`. Must be called
 * once, in a process that does nothing else.
 */
export async function interceptAll(time: EventClock, draws: Draws): Promise<void> {
  await interceptCalls((work) => heldBy(time, work));
  const open = Session.open.bind(Session);
  Session.open = (options) => heldBy(time, () => open(options)) as Promise<Session>;
  intervalsOn();
  Math.random = () => draws.fraction();
  crypto.randomInt = ((from: number, to: number) => from + draws.below(to - from)) as typeof crypto.randomInt;
  crypto.randomUUID = () => uuidOf(draws);
  // It would take the time of a thread, which the clock does not see.
  crypto.scrypt = ((password, salt, length, done) =>
    done(null, crypto.scryptSync(password, salt, length))) as Scrypt as typeof crypto.scrypt;
  // Other programs than this one are not on this disk.
  fs.promises.statfs = (async () => ({ bavail: 2 ** 40, bsize: 4096 })) as never;
  syncBuiltinESMExports();
}

type Scrypt = (
  password: string,
  salt: string,
  length: number,
  done: (error: Error | null, key: Buffer) => void,
) => void;

async function heldBy(time: EventClock, work: () => Promise<unknown>): Promise<unknown> {
  const process = currentProcess.getStore();
  await process?.running();
  const release = time.hold();
  try {
    return await work();
  } finally {
    release();
    await process?.running();
  }
}

function uuidOf(draws: Draws): ReturnType<typeof crypto.randomUUID> {
  const digits = Array.from({ length: 32 }, () => draws.below(16).toString(16)).join("");
  const parts = [0, 8, 12, 16, 20, 32].slice(0, -1).map((at, n) => digits.slice(at, [8, 12, 16, 20, 32][n]));
  return parts.join("-") as ReturnType<typeof crypto.randomUUID>;
}

/** Makes intervals of virtual processes follow their clocks. */
function intervalsOn(): void {
  const { setInterval: set, clearInterval: clear } = globalThis;
  globalThis.setInterval = ((call: () => void, ms: number) => {
    const process = currentProcess.getStore();
    if (process === undefined) return set(call, ms);
    const ended = new AbortController();
    const interval = {
      clear: () => ended.abort(),
      unref: () => interval,
      ref: () => interval,
    };
    const repeat = async (): Promise<void> => {
      while (!ended.signal.aborted) {
        await process.clock.sleep(ms, ended.signal);
        call();
      }
    };
    repeat().catch(() => {});
    return interval;
  }) as never;
  globalThis.clearInterval = (interval: unknown) => {
    if (isVirtual(interval)) interval.clear();
    else clear(interval as NodeJS.Timeout);
  };
}

function isVirtual(interval: unknown): interval is { readonly clear: () => void } {
  return interval !== null && typeof interval === "object" && "clear" in interval;
}

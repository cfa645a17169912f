import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { z } from "zod";

/** The fields of an owner in the content of a lease. */
export const ownerShape = z.object({
  host: z.string(),
  pid: z.int(),
  /** Absent in records of earlier releases. */
  machine: z.string().optional(),
});

/** A process, as other processes and machines know it. */
export interface Owner {
  /** The name of its machine, for people. Two containers may have the same. */
  readonly host: string;
  readonly pid: number;
  /** Identifies the processes that know each other by their numbers: see {@link thisProcess}. */
  readonly machine?: string | undefined;
}

let known: string | undefined;

/**
 * Identifies a boot of a machine and, in containers, the namespace of process numbers. Where the system has no such ids
 * it is the name of the machine.
 */
function thisMachine(): string {
  known ??= machineId() ?? hostname();
  return known;
}

function machineId(): string | undefined {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return createHash("sha256")
      .update(`${boot} ${readlinkSync("/proc/self/ns/pid")}`)
      .digest("hex")
      .slice(0, 32);
  } catch {
    return undefined;
  }
}

/** The owner of what this process leases. */
export function thisProcess(): Required<Owner> & { readonly machine: string } {
  return { host: hostname(), pid: process.pid, machine: thisMachine() };
}

/** Whether a process runs, or has ended; "unknown" for a process of another machine, or of another boot. */
export function stateOf({ host, pid, machine }: Owner): "running" | "ended" | "unknown" {
  const isHere = machine === undefined ? host === hostname() : machine === thisMachine();
  if (!isHere) return "unknown";
  return isRunning(pid) ? "running" : "ended";
}

/** Whether a process runs on this machine, under any user. False for a number that is not a process id. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process runs, and belongs to another user.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** A process, in messages: `process 12 on host`. */
export function nameOfOwner({ host, pid }: Owner): string {
  return `process ${pid} on ${host}`;
}

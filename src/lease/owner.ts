import { hostname } from "node:os";

/** A process, as other processes and machines know it. */
export interface Owner {
  readonly host: string;
  readonly pid: number;
}

/** The owner of what this process leases. */
export function thisProcess(): Owner {
  return { host: hostname(), pid: process.pid };
}

/** Whether a process runs, or has ended; "unknown" for a process of another machine. */
export function stateOf({ host, pid }: Owner): "running" | "ended" | "unknown" {
  if (host !== hostname()) return "unknown";
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

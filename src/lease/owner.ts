import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { z } from "zod";

export const ownerShape = z.object({
  host: z.string(),
  pid: z.int(),
  /** Absent in records of earlier versions. */
  machine: z.string().optional(),
});

/** A process, in the form in which other processes and machines know it. */
export interface Owner {
  /** The name of its machine, for people. Two containers may have the same name. */
  readonly host: string;
  readonly pid: number;
  /** Identifies the group of processes that can see each other's process ids: see {@link thisProcess}. */
  readonly machine?: string | undefined;
}

/** A machine's boot, namespace of process ids, and installation, each as a short hash. */
export const MACHINE = /^([0-9a-f]{12})-([0-9a-f]{12})-([0-9a-f]{12})$/;
/**
 * The part for the installation where it does not identify a machine, because containers of one image have the same
 * one.
 */
const NOT_INSTALLED = "0".repeat(12);
const HOST_NAMESPACE = "pid:[4026531836]";

interface MachineIds {
  readonly machine: string;
  /** The name of the same boot and namespace in an earlier version. */
  readonly earlier?: string;
}

let known: MachineIds | undefined;

/**
 * Identifies a boot of a machine and, in containers, the namespace of process ids. If the system has no such ids, it is
 * the name of the machine.
 */
function machineIds(): MachineIds {
  known ??= readMachineIds() ?? { machine: hostname() };
  return known;
}

function readMachineIds(): MachineIds | undefined {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    const namespace = readlinkSync("/proc/self/ns/pid");
    const installed = namespace === HOST_NAMESPACE ? installation() : "";
    const third = installed === "" ? NOT_INSTALLED : hashOf(installed, 12);
    return {
      machine: `${hashOf(boot, 12)}-${hashOf(namespace, 12)}-${third}`,
      earlier: hashOf(`${boot} ${namespace}`, 32),
    };
  } catch {
    return undefined;
  }
}

/** The id of the system's installation, which does not change with a boot; empty where there is none. */
function installation(): string {
  try {
    return readFileSync("/etc/machine-id", "utf8").trim();
  } catch {
    return "";
  }
}

function hashOf(text: string, length: number): string {
  return createHash("sha256").update(text).digest("hex").slice(0, length);
}

export function thisProcess(): Required<Owner> & { readonly machine: string } {
  return { host: hostname(), pid: process.pid, machine: machineIds().machine };
}

/**
 * Whether a process is running or has ended. A process of an earlier boot of this machine has ended. It is "unknown"
 * for a process of another machine or container. Two machines may have the same name, so the name alone does not
 * identify one.
 *
 * @param here the process that calls.
 */
export function stateOf(
  { host, pid, machine }: Owner,
  here: Required<Owner> = thisProcess(),
): "running" | "ended" | "unknown" {
  const isHere = machine === undefined ? host === here.host : isSameBoot(machine, here.machine);
  if (isHere) return isRunning(pid) ? "running" : "ended";
  return host === here.host && isOtherBoot(machine, here.machine) ? "ended" : "unknown";
}

/** Whether processes of two machines can see each other's process ids. */
function isSameBoot(machine: string, here = ""): boolean {
  if (machine === here || machine === machineIds().earlier) return true;
  const [one, other] = [MACHINE.exec(machine), MACHINE.exec(here)];
  return one !== null && one[1] === other?.[1] && one[2] === other?.[2];
}

function isOtherBoot(machine = "", here = ""): boolean {
  const [one, other] = [MACHINE.exec(machine), MACHINE.exec(here)];
  if (one === null || other === null || one[3] === NOT_INSTALLED) return false;
  return one[1] !== other[1] && one[3] === other[3];
}

/**
 * Whether a process runs on this machine, under any user; false for a number that is not a process id, and for a process
 * that has ended and is still in the table of processes.
 */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process runs, and belongs to another user.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  return !isZombie(pid);
}

/**
 * Whether all threads of a process have ended, and its parent has not asked for its exit code. Where the parent never
 * asks, as the first process of many containers, the process stays in this state. False where the system does not say.
 */
function isZombie(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // `12 (the program's name) Z 1 …`: the name may have any character. See proc_pid_stat(5).
    const [state = "", ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const threads = Number(rest[16]);
    return "ZXx".includes(state) && threads <= 1;
  } catch {
    return false;
  }
}

/** The name of a process in messages: `process 12 on host`. */
export function nameOfOwner({ host, pid }: Owner): string {
  return `process ${pid} on ${host}`;
}

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

/** Addresses in the network: a service and a store, which a machine can be cut off from one by one. */
export const SERVICE_ADDRESS = "10.77.0.1";
export const STORE_ADDRESS = "10.77.0.2";

const FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

/** A process of a machine; `output` grows. */
export interface MachineProcess {
  readonly output: { stdout: string; stderr: string };
  /** Sends a signal to the program itself. */
  signal(name: NodeJS.Signals): void;
  ended(): Promise<void>;
}

/** Machines with separate network addresses and process numbers, in one network. */
export interface Network {
  /** Starts a program: where the service and the store are, or on a machine. @param aheadMinutes of its clock. */
  start(where: string, command: readonly string[], env?: object, aheadMinutes?: number): MachineProcess;
  /** The address of a machine. */
  addressOf(machine: string): string;
  /** Cuts a machine off from an address, or ends that. */
  cut(machine: string, address: string, isCut: boolean): void;
  close(): Promise<void>;
}

const ip = (...parameters: string[]): string =>
  execFileSync("ip", parameters, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

/** Why there can be no such network here; undefined where there can. */
export function networkFault(): string | undefined {
  const name = `barlake-try-${process.pid}`;
  try {
    ip("netns", "add", name);
    ip("netns", "del", name);
    return undefined;
  } catch (error) {
    return `ip netns add is not permitted here: ${String(error).split("\n", 1)[0]}`;
  }
}

/** Whether a machine's clock can differ here. */
export const hasFaketime = existsSync(FAKETIME);

/** Makes a network of machines; its "hub" has the addresses of the service and the store. */
export function openNetwork(machines: readonly string[]): Network {
  const of = (name: string): string => `barlake-${process.pid}-${name}`;
  const inside = (name: string, ...command: string[]): string => ip("netns", "exec", of(name), ...command);
  const addressOf = (name: string): string => `10.77.0.${10 + machines.indexOf(name)}`;
  const children: ChildProcess[] = [];
  const names = ["hub", ...machines];
  const remove = (): void => {
    for (const name of names) {
      try {
        ip("netns", "del", of(name));
      } catch {
        // It was not made.
      }
    }
  };
  try {
    for (const name of names) {
      ip("netns", "add", of(name));
      inside(name, "ip", "link", "set", "lo", "up");
    }
    inside("hub", "ip", "link", "add", "bridge", "type", "bridge");
    inside("hub", "ip", "link", "set", "bridge", "up");
    for (const address of [SERVICE_ADDRESS, STORE_ADDRESS])
      inside("hub", "ip", "address", "add", `${address}/24`, "dev", "bridge");
    for (const [index, name] of machines.entries()) {
      const [near, far] = ["eth0", `to-${index}`];
      inside("hub", "ip", "link", "add", far, "type", "veth", "peer", "name", near, "netns", of(name));
      inside("hub", "ip", "link", "set", far, "master", "bridge", "up");
      inside(name, "ip", "address", "add", `${addressOf(name)}/24`, "dev", near);
      inside(name, "ip", "link", "set", near, "up");
    }
  } catch (error) {
    remove();
    throw error;
  }
  return {
    addressOf,
    start(where, command, env = {}, aheadMinutes = 0) {
      const clock =
        aheadMinutes === 0
          ? {}
          : { LD_PRELOAD: FAKETIME, FAKETIME: `+${aheadMinutes}m`, FAKETIME_DONT_FAKE_MONOTONIC: "1" };
      const within = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"];
      const child = spawn("ip", ["netns", "exec", of(where), ...within, ...command], {
        env: { ...process.env, ...env, ...clock },
        stdio: ["ignore", "pipe", "pipe"],
      });
      children.push(child);
      const output = { stdout: "", stderr: "" };
      child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
      child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
      return {
        output,
        signal(name) {
          const id = String(child.pid);
          const [program] = readFileSync(`/proc/${id}/task/${id}/children`, "utf8").split(" ");
          process.kill(Number(program), name);
        },
        ended: () => ended(child),
      };
    },
    cut(machine, address, isCut) {
      inside(machine, "ip", "route", isCut ? "add" : "del", "blackhole", `${address}/32`);
    },
    async close() {
      for (const child of children) child.kill("SIGKILL");
      await Promise.all(children.map(ended));
      remove();
    },
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await new Promise((resolve) => child.once("exit", resolve));
}

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { LandReport } from "../../src/lake/upsert.js";

const WORKER = fileURLToPath(new URL("lake-worker.mjs", import.meta.url));

/** What a worker is to do with the daily bars of a lake. */
export type Order =
  | {
      readonly kind: "land";
      readonly bars: readonly { readonly symbol: string; readonly at: number; readonly close: number }[];
      readonly answers?: readonly string[];
    }
  | { readonly kind: "optimize"; readonly targetBytes: number }
  | { readonly kind: "vacuum" }
  | { readonly kind: "checkpoint" };

/** The call of the storage at which a worker is to die, from 0: before it, or once it is done. */
export interface Kill {
  readonly call: number;
  readonly isDone: boolean;
}

/** A process of its own that changes a lake. */
export interface LakeWorker {
  /** Resolves with what was done, or with undefined where the worker died of it. @throws where it failed. */
  perform(folder: string, order: Order, kill?: Kill): Promise<Partial<LandReport> | undefined>;
  /** Kills the process, whatever it does. */
  kill(): void;
  /** Lets the process end. */
  close(): void;
}

/** Starts a worker; it is ready when the promise resolves. */
export async function startLakeWorker(): Promise<LakeWorker> {
  const child = fork(WORKER, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  await once(child, "message");
  return {
    perform: (folder, order, kill) => answerTo(child, { ...order, folder, kill }),
    kill: () => void child.kill("SIGKILL"),
    close: () => {
      if (child.connected) child.disconnect();
    },
  };
}

function answerTo(child: ChildProcess, order: object): Promise<Partial<LandReport> | undefined> {
  return new Promise((resolve, reject) => {
    const onMessage = (answer: { done?: Partial<LandReport>; failed?: string }): void => {
      child.off("exit", onExit);
      if (answer.failed === undefined) resolve(answer.done ?? {});
      else reject(new Error(answer.failed));
    };
    const onExit = (): void => {
      child.off("message", onMessage);
      resolve(undefined);
    };
    child.once("message", onMessage);
    child.once("exit", onExit);
    // A process that dies before it reads the order ends by "exit" too.
    child.send(order, () => {});
    if (child.exitCode !== null || child.signalCode !== null) onExit();
  });
}

import { fileURLToPath } from "node:url";
import type { LandReport } from "../../src/lake/land/upsert.js";
import { startWorker, type WorkerProcess } from "./worker-process.js";

const WORKER = fileURLToPath(new URL("lake-worker.mjs", import.meta.url));

/** A worker's order for the daily bars of a lake; `compact`: what is done after a run, for the ledger too. */
export type Order =
  | {
      readonly kind: "land";
      readonly bars: readonly { readonly symbol: string; readonly at: number; readonly close: number }[];
      readonly responses?: readonly string[];
    }
  | { readonly kind: "optimize"; readonly targetBytes: number }
  | { readonly kind: "compact" }
  | { readonly kind: "vacuum" }
  | { readonly kind: "checkpoint" };

/** The call of the storage, or of the work folder, at which a worker dies, from 0: before it, or when it is done. */
export interface Kill {
  readonly call: number;
  readonly isDone: boolean;
}

/** A separate process that changes a lake. */
export type LakeWorker = WorkerProcess<
  Order & { readonly folder: string; readonly kill?: Kill | undefined },
  Partial<LandReport>
>;

/** Starts a worker; it is ready when the promise resolves. */
export async function startLakeWorker(): Promise<LakeWorker> {
  return startWorker(WORKER);
}

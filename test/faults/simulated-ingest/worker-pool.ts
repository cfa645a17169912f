import { fileURLToPath } from "node:url";
import { bundledProgram } from "../bundled-program.js";
import { startWorker, type WorkerProcess } from "../worker-process.js";
import type { LifeOrder } from "./life-order.js";

export type LifeWorker = WorkerProcess<LifeOrder, object>;

/** Number of workers started in advance: starting one takes longer than most lives. */
export interface WorkerPool {
  take(): Promise<LifeWorker>;
  /** Returns a worker that is still alive. */
  give(worker: LifeWorker): void;
  close(): Promise<void>;
}

/** @param folder an empty folder for the program. @param size number of workers that are kept ready. */
export async function openPool(folder: string, size: number): Promise<WorkerPool> {
  const program = await bundledProgram(fileURLToPath(new URL("worker.ts", import.meta.url)), folder);
  const ready: Promise<LifeWorker>[] = [];
  const fill = (): void => {
    while (ready.length < size) ready.push(startWorker(program));
  };
  fill();
  return {
    async take() {
      const worker = ready.shift() as Promise<LifeWorker>;
      fill();
      return worker;
    },
    give(worker) {
      ready.unshift(Promise.resolve(worker));
    },
    async close() {
      for (const worker of ready) (await worker).close();
    },
  };
}

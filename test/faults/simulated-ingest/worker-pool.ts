import { mkdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { startWorker, type WorkerProcess } from "../worker-process.js";
import type { LifeOrder } from "./life-order.js";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

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
  const program = await bundled(folder);
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

/** The worker's program in one file, which loads in half of the time; it finds packages and views as in `dist`. */
async function bundled(folder: string): Promise<string> {
  for (const name of ["node_modules", "sql", "package.json"])
    await symlink(join(ROOT, name), join(folder, name));
  // Modules look for the views three folders above their own, as in `dist/db/views`, and for package.json two above.
  const outfile = join(folder, "dist", "faults", "worker", "worker.mjs");
  await mkdir(dirname(outfile), { recursive: true });
  await symlink(join(ROOT, "package.json"), join(folder, "dist", "package.json"));
  const require =
    'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);';
  await build({
    entryPoints: [fileURLToPath(new URL("worker.ts", import.meta.url))],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    external: ["@duckdb/node-bindings*"],
    minifySyntax: true,
    minifyWhitespace: true,
    banner: { js: require },
    logLevel: "error",
  });
  return outfile;
}

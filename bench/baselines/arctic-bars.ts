import { spawn, spawnSync } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { ReadOptions } from "../../src/api/lake/open-lake.js";

/** A process that reads bars from ArcticDB. */
export interface ArcticBars {
  /** Reads bars; resolves when they are in memory. @returns a function that returns their sums. */
  read(reads: readonly ReadOptions[]): Promise<() => Promise<Record<string, number>>>;
  close(): void;
}

/** Starts ArcticDB with the bars of Parquet files, where `BARLAKE_ARCTIC_PYTHON` names a Python that has it. */
export async function arcticBars(folder: string, files: readonly string[]): Promise<ArcticBars | undefined> {
  const python = process.env.BARLAKE_ARCTIC_PYTHON;
  if (python === undefined || spawnSync(python, ["-c", "import arcticdb, pyarrow"]).status !== 0)
    return undefined;
  const script = fileURLToPath(new URL("arctic_bars.py", import.meta.url));
  const child = spawn(python, [script], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<string> => {
    const line = await lines.next();
    if (line.done === true) throw new Error("arctic_bars.py ended early");
    return line.value;
  };
  const send = (order: unknown): void => void child.stdin.write(`${JSON.stringify(order)}\n`);
  send({ folder, files });
  await next();
  return {
    async read(reads) {
      send({ reads });
      await next();
      return async () => JSON.parse(await next()) as Record<string, number>;
    },
    close: () => child.stdin.end(),
  };
}

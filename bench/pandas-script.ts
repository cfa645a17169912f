import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Layout } from "./dataset-layout.js";

const SCRIPT = fileURLToPath(new URL("pandas_dataset.py", import.meta.url));

/** What the script with pandas works on. */
export interface PandasScript {
  readonly python: string;
  readonly files: readonly string[];
  readonly layout: Layout;
}

/** A Python that has pandas and pyarrow: the one that BARLAKE_PYTHON names, or `python3`. */
export function findPandas(): string | undefined {
  const python = process.env.BARLAKE_PYTHON ?? "python3";
  const { status } = spawnSync(python, ["-c", "import pandas, pyarrow"]);
  return status === 0 ? python : undefined;
}

/**
 * Starts the script, which loads its libraries and waits.
 *
 * @returns what has it work, and gives the largest resident set that it had, in megabytes.
 */
export async function startPandas(
  { python, files, layout }: PandasScript,
  output: string,
): Promise<{ run(): Promise<number> }> {
  const child = spawn(python, [SCRIPT], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (wanted: string): Promise<string> => {
    const line = await lines.next();
    const text = line.done === true ? "" : line.value;
    if (!text.startsWith(wanted)) throw new Error(`the script with pandas ended early: ${text}`);
    return text.slice(wanted.length);
  };
  await next("ready");
  return {
    async run() {
      child.stdin.end(`${JSON.stringify({ files, layout, output })}\n`);
      const peak = Number(await next("done "));
      await once(child, "close");
      return peak;
    },
  };
}

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** A program that loads its modules, writes `ready`, reads its order as a JSON line, and writes `done` and its peak. */
export type Command = readonly [program: string, ...args: string[]];

/** A file, named relative to this folder, as a program for the current Node, with its loader. */
export function nodeCommand(file: string): Command {
  return [process.execPath, ...process.execArgv, fileURLToPath(new URL(file, import.meta.url))];
}

/** A script of this folder for a Python that has pandas and pyarrow: `BARLAKE_PYTHON`, or `python3`. */
export function pandasCommand(file: string): Command | undefined {
  const python = process.env.BARLAKE_PYTHON ?? "python3";
  const { status } = spawnSync(python, ["-c", "import pandas, pyarrow"]);
  return status === 0 ? [python, fileURLToPath(new URL(file, import.meta.url))] : undefined;
}

/**
 * Starts a program, and returns when it is ready.
 *
 * @returns a function that sends the order, and returns the peak resident set of the program, in megabytes.
 */
export async function startWaiting(
  [program, ...args]: Command,
  order: unknown,
): Promise<{ run(): Promise<number> }> {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (prompt: string): Promise<string> => {
    const line = await lines.next();
    const text = line.done === true ? "" : line.value;
    if (!text.startsWith(prompt)) throw new Error(`${args.at(-1)} ended early: ${text}`);
    return text.slice(prompt.length);
  };
  await next("ready");
  return {
    async run() {
      child.stdin.end(`${JSON.stringify(order)}\n`);
      const peak = Number(await next("done "));
      await once(child, "close");
      return peak;
    },
  };
}

import { execFileSync, spawn, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const PYTHON = process.env.BARLAKE_PYTHON ?? "python3";

/** Whether the Python of BARLAKE_PYTHON, or else python3, has all of the packages; where not, the console says so. */
export function pythonHas(...packages: readonly string[]): boolean {
  const ready = spawnSync(PYTHON, ["-c", `import ${packages.join(", ")}`]).status === 0;
  if (!ready) {
    console.warn(
      `skipped: ${PYTHON} cannot import ${packages.join(" and ")}; set BARLAKE_PYTHON to one that can`,
    );
  }
  return ready;
}

/** Runs a script that lies beside this file, and gives the JSON value that it prints. */
export function runPython(script: string, ...args: readonly string[]): unknown {
  const path = fileURLToPath(new URL(script, import.meta.url));
  return JSON.parse(execFileSync(PYTHON, [path, ...args], { encoding: "utf8", maxBuffer: 2 ** 28 }));
}

/** Runs a module's command line in a folder, without holding up this process. @returns its exit code, and what it wrote. */
export async function runModule(
  cwd: string,
  module: string,
  ...args: readonly string[]
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(PYTHON, ["-m", module, ...args], { cwd, stdio: ["ignore", "pipe", "pipe"] });
  const pieces: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece: Buffer) => pieces.push(piece));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, output: Buffer.concat(pieces).toString("utf8") };
}

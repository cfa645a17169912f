import { execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { SWEEP } from "../sweep.js";

/** A Python, and the variable that says which. */
interface Interpreter {
  readonly variable: string;
  readonly program: string;
}

const python = (variable: string, fallback: string): Interpreter => ({
  variable,
  program: process.env[variable] ?? fallback,
});
const PYTHON = python("BARLAKE_PYTHON", "python3");

/**
 * Functions that numba would compile are interpreted, outside a soak: the inputs are small, and to compile takes longer
 * than to run.
 */
const ENVIRONMENT = SWEEP === "all" ? process.env : { ...process.env, NUMBA_DISABLE_JIT: "1" };

/** zipline wants other versions of what it shares with other packages, so that it may have a Python to itself. */
export const ZIPLINE_PYTHON = python("BARLAKE_ZIPLINE_PYTHON", PYTHON.program);

/** Whether the Python of BARLAKE_PYTHON, or else python3, has all of the packages; where not, the console says so. */
export function pythonHas(...packages: readonly string[]): boolean {
  return interpreterHas(PYTHON, ...packages);
}

export function interpreterHas({ program, variable }: Interpreter, ...packages: readonly string[]): boolean {
  // To import them would take seconds for each test file.
  const find = "import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, sys.argv[1:])))";
  const ready = spawnSync(program, ["-c", find, ...packages]).status === 0;
  if (!ready) {
    console.warn(
      `skipped: ${program} cannot import ${packages.join(" and ")}; set ${variable} to one that can`,
    );
  }
  return ready;
}

/** Runs a script that is next to this file, and gives the JSON value that it prints. */
export function runPython(script: string, ...args: readonly string[]): unknown {
  return runScript(PYTHON, script, ...args);
}

export function runScript({ program }: Interpreter, script: string, ...args: readonly string[]): unknown {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const options = { encoding: "utf8", maxBuffer: 2 ** 28, env: ENVIRONMENT } as const;
  return JSON.parse(execFileSync(program, [path, ...args], options));
}

/** {@link runPython}, without holding up this process, which may serve the script. */
export async function runPythonAsync(script: string, ...args: readonly string[]): Promise<unknown> {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const run = promisify(execFile);
  const { stdout } = await run(PYTHON.program, [path, ...args], { encoding: "utf8", maxBuffer: 2 ** 28 });
  return JSON.parse(stdout);
}

/** Runs a module's command line in a folder, without holding up this process. @returns its exit code, and what it wrote. */
export async function runModule(
  cwd: string,
  module: string,
  ...args: readonly string[]
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(PYTHON.program, ["-m", module, ...args], { cwd, stdio: ["ignore", "pipe", "pipe"] });
  const pieces: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece: Buffer) => pieces.push(piece));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, output: Buffer.concat(pieces).toString("utf8") };
}

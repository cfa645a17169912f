import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The built command. */
export const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

/** What the commands keep beside the lake, for as long as a test file runs. */
const STATE = mkdtempSync(join(tmpdir(), "barlake-state-"));
process.on("exit", () => rmSync(STATE, { recursive: true, force: true }));

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  /** Kills the process outright (SIGKILL) once it has run for so long; its exit code is then null. */
  readonly killAfterMs?: number;
  /** Largest file that the process may write, in KiB (ulimit -f); what is larger fails with EFBIG. */
  readonly fileLimitKib?: number;
  /** Called as output comes, with all of it so far; may end the child. */
  readonly onOutput?: (stdout: string, child: ChildProcess) => void;
  /** The same for standard error. */
  readonly onLog?: (stderr: string, child: ChildProcess) => void;
}

/** Runs the built command line in a process of its own, as a user does. */
export function runCli(parameters: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("BARLAKE_"));
  const command = [process.execPath, MAIN, ...parameters];
  const limited =
    options.fileLimitKib === undefined
      ? command
      : ["bash", "-c", `ulimit -f ${options.fileLimitKib}; exec "$0" "$@"`, ...command];
  const child = spawn(limited[0] as string, limited.slice(1), {
    cwd: options.cwd,
    env: { ...Object.fromEntries(inherited), NO_COLOR: "1", XDG_STATE_HOME: STATE, ...options.env },
    stdio: "pipe",
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (piece: Buffer) => {
    stdout += piece.toString("utf8");
    options.onOutput?.(stdout, child);
  });
  child.stderr.on("data", (piece: Buffer) => {
    stderr += piece.toString("utf8");
    options.onLog?.(stderr, child);
  });
  const killer =
    options.killAfterMs === undefined
      ? undefined
      : setTimeout(() => child.kill("SIGKILL"), options.killAfterMs);
  child.stdin.end(options.input ?? "");
  return new Promise((resolve) => {
    child.on("close", (code) => {
      clearTimeout(killer);
      resolve({ code, stdout, stderr });
    });
  });
}

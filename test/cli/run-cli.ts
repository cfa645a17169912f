import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFailed } from "vitest";
import { noteOnFailure } from "../failure-notes.js";
import { type CliResult, performCommand } from "./command-processes.js";

export type { CliResult };

/** The built command. */
export const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

/** What the commands store next to the lake, for as long as a test process runs. */
const STATE = mkdtempSync(join(tmpdir(), "barlake-state-"));
/** The folder of commands for which a test names none: it has no settings of the user who runs the tests. */
const PLACE = mkdtempSync(join(tmpdir(), "barlake-place-"));
process.on("exit", () => {
  for (const folder of [STATE, PLACE]) rmSync(folder, { recursive: true, force: true });
});

/** How a command is run. */
export interface CommandOptions {
  /** @default an empty folder */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

/** How a command is run in a new process. */
export interface ProcessOptions extends CommandOptions {
  /** Largest file that the process may write, in KiB (ulimit -f); what is larger fails with EFBIG. */
  readonly fileLimitKib?: number;
  /** The id of the user as whom it runs. @default that of the tests */
  readonly uid?: number;
  /** Called once the process is there; may end it later. */
  readonly onStart?: (child: ChildProcess) => void;
  /** Called as output comes, with all of it so far; may end the child. */
  readonly onOutput?: (stdout: string, child: ChildProcess) => void;
  /** The same for standard error. */
  readonly onLog?: (stderr: string, child: ChildProcess) => void;
}

/**
 * Runs a command of the built command line, in a process that has run others before: see {@link runProcess} for a new
 * one. `TEST_FRESH=1` gives each command a new process.
 */
export async function runCli(
  parameters: readonly string[],
  options: CommandOptions = {},
): Promise<CliResult> {
  if (process.env.TEST_FRESH === "1") return runProcess(parameters, options);
  const { cwd = PLACE, input = "" } = options;
  const result = await performCommand({ parameters, cwd, input, env: environmentOf(options) });
  return logged(parameters, result);
}

/** Runs the built command line in a new process, as a user does: for signals, limits, and what is seen while it runs. */
export function runProcess(parameters: readonly string[], options: ProcessOptions = {}): Promise<CliResult> {
  const command = [process.execPath, MAIN, ...parameters];
  const limited =
    options.fileLimitKib === undefined
      ? command
      : ["bash", "-c", `ulimit -f ${options.fileLimitKib}; exec "$0" "$@"`, ...command];
  const child = spawn(limited[0] as string, limited.slice(1), {
    cwd: options.cwd ?? PLACE,
    env: environmentOf(options),
    stdio: "pipe",
    ...(options.uid !== undefined && { uid: options.uid }),
  });
  options.onStart?.(child);
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    stdout += piece;
    options.onOutput?.(stdout, child);
  });
  child.stderr.setEncoding("utf8").on("data", (piece: string) => {
    stderr += piece;
    options.onLog?.(stderr, child);
  });
  // A process that ends before it has read its input breaks the pipe.
  child.stdin.on("error", () => {});
  child.stdin.end(options.input ?? "");
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve(logged(parameters, { code, stdout, stderr })));
  });
}

function environmentOf({ env }: CommandOptions): Record<string, string> {
  const inherited = Object.entries(process.env as Record<string, string>).filter(
    ([name]) => !name.startsWith("BARLAKE_"),
  );
  return { ...Object.fromEntries(inherited), NO_COLOR: "1", XDG_STATE_HOME: STATE, ...env };
}

/** Longest part of an output that the log of a failed test shows. */
const LOG_LENGTH = 4000;

/** A line that a command without a terminal logs every five seconds: only on a slow machine is there any. */
const PROGRESS_LINE = /^(?:\{.*"msg":"progress"\}| {3}\S.* (?:· |running for ).*)\n/gm;

/**
 * A test that fails shows what its commands printed, and what those of its file's hooks did. @returns the result without
 * lines of progress.
 */
function logged(parameters: readonly string[], result: CliResult): CliResult {
  const subject = `$ barlake ${parameters.join(" ")}`;
  const text = (): string => {
    const output = [result.stdout, result.stderr].map((printed) => printed.slice(-LOG_LENGTH).trimEnd());
    return [...output, `exit code ${result.code}`].join("\n");
  };
  try {
    onTestFailed(() => console.error(`${subject}\n${text()}`));
  } catch {
    // A hook that prepares several tests.
    noteOnFailure({ subject, text });
  }
  return { ...result, stderr: result.stderr.replaceAll(PROGRESS_LINE, "") };
}

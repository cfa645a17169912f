import { spawn, spawnSync } from "node:child_process";
import { stripVTControlCharacters } from "node:util";
import { onTestFailed, onTestFinished } from "vitest";
import { MAIN } from "../run-cli.js";

/** Whether a pseudo-terminal can be had: by `script` of util-linux; where not, the console says so. */
export function hasTerminal(): boolean {
  const { status, stdout } = spawnSync("script", ["-qec", "test -t 0 && echo yes", "/dev/null"], {
    encoding: "utf8",
  });
  const ready = status === 0 && stdout.includes("yes");
  if (!ready) console.warn("skipped: there is no `script` of util-linux to make a terminal with");
  return ready;
}

/** Keys, as a terminal sends them. */
export const KEY = { enter: "\r", tab: "\t", up: "\u001b[A", ctrlC: "\u0003", ctrlD: "\u0004" } as const;

/** What is awaited on the screen, and what is typed then. */
export type Step = readonly [awaited: RegExp, typed: string];

export interface TerminalResult {
  readonly code: number | null;
  /** All that was shown, without colours and cursor movements. */
  readonly shown: string;
}

/**
 * Runs the built command in a terminal of 80 columns and 24 lines and types into it: each step once its text was shown
 * after the step before.
 */
export function runInTerminal(
  parameters: readonly string[],
  steps: readonly Step[],
  env: Readonly<Record<string, string>>,
): Promise<TerminalResult> {
  const quoted = [process.execPath, MAIN, ...parameters].map((word) => `'${word.replaceAll("'", "'\\''")}'`);
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("BARLAKE_"));
  const child = spawn("script", ["-qec", `stty cols 80 rows 24; exec ${quoted.join(" ")}`, "/dev/null"], {
    env: { ...Object.fromEntries(inherited), TERM: "xterm-256color", ...env },
    stdio: "pipe",
  });
  let shown = "";
  let seen = 0;
  const left = [...steps];
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    shown += piece;
    for (;;) {
      const [awaited, typed] = left[0] ?? [];
      if (awaited === undefined || typed === undefined) return;
      const found = awaited.exec(stripVTControlCharacters(shown).slice(seen));
      if (found === null) return;
      seen += found.index + found[0].length;
      left.shift();
      child.stdin.write(typed);
    }
  });
  // A shell that waits for what is never shown is ended with its test.
  onTestFinished(() => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
  });
  onTestFailed(() => {
    const [awaited] = left[0] ?? [];
    const unseen = awaited === undefined ? [] : [`never shown: ${String(awaited)}`];
    console.error(["the screen:", stripVTControlCharacters(shown).trimEnd(), ...unseen].join("\n"));
  });
  return new Promise((resolve) => {
    child.on("close", (code) => resolve({ code, shown: stripVTControlCharacters(shown) }));
  });
}

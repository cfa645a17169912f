import type { Command } from "commander";

/** The parts of the process that a command needs; tests pass their own. */
export interface Cli {
  readonly program: Command;
  /** Runs a command's work; its result is the exit code. */
  action(work: () => Promise<number>): Promise<void>;
  /** Aborts on Ctrl-C and on SIGTERM. */
  readonly signal: AbortSignal;
}

import type { Command } from "commander";

/** What a command needs of the process, so that it can be run by a test as well. */
export interface Cli {
  readonly program: Command;
  /** Runs a command's work; its result is the exit code. */
  action(work: () => Promise<number>): Promise<void>;
  /** Aborts on Ctrl-C and on SIGTERM. */
  readonly signal: AbortSignal;
}

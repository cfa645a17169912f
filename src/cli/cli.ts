import type { Command } from "commander";
import type { ResolvedSetting } from "./settings/resolve-settings.js";

/** The parts of the process that a command needs; tests pass their own. */
export interface Cli {
  readonly program: Command;
  /** Runs a command's work; its result is the exit code. */
  action(work: () => Promise<number>): Promise<void>;
  /** A command by its name, with its options; undefined where there is none. It cannot be run. */
  readonly load: (name: string) => Promise<Command | undefined>;
  /** What the environment and the files of the working directory set. */
  readonly settings: readonly ResolvedSetting[];
  /** Aborts on Ctrl-C and on SIGTERM. */
  readonly signal: AbortSignal;
}

import { constants } from "node:os";
import { Command, type Option } from "commander";
import type { ImportReport } from "../jobs/import/run-import.js";
import type { RunStatus } from "../schema/runs.js";
import type { ResolvedSetting } from "./settings.js";

export const EXIT = {
  done: 0,
  /** Partial, or findings. */
  partial: 1,
  usage: 2,
  /** Refused by the service. */
  refused: 3,
  interrupted: 130,
} as const;

export function exitOfRun(status: RunStatus): number {
  switch (status) {
    case "complete":
      return EXIT.done;
    case "partial":
    case "failed":
    case "killed":
      return EXIT.partial;
    case "refused":
      return EXIT.refused;
    case "interrupted":
      return EXIT.interrupted;
  }
}

/** The exit code of an import: partial if a file could not be read, or rows were rejected and none was landed. */
export function exitOfImport({ rejected, landed }: Pick<ImportReport, "rejected" | "landed">): number {
  if (rejected.some(({ rule }) => rule === "unreadable_file")) return EXIT.partial;
  const taken = landed.reduce((sum, one) => sum + one.inserted + one.updated + one.unchanged, 0);
  return rejected.length > 0 && taken === 0 ? EXIT.partial : EXIT.done;
}

/**
 * Ends this process by a signal, as one without handlers is: shells show 130 for Ctrl-C. `process.exit` would wait for reads
 * of DuckDB that are running, for up to two minutes where a store does not respond.
 *
 * The first process of a container, where no init runs it (`docker run --init`), is not ended by such a signal: the kernel
 * drops it. It exits with the same code.
 */
export function endAtOnce(signal: "SIGINT" | "SIGTERM"): void {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  if (process.pid === 1) process.exit(128 + constants.signals[signal]);
}

/** The program, or a command of it. All have the exit code of the command that has run. */
export class CliCommand extends Command {
  readonly exit: { code: number };

  constructor(name?: string, exit: { code: number } = { code: EXIT.done }) {
    super(name);
    this.exit = exit;
  }

  override createCommand(name?: string): CliCommand {
    return new CliCommand(name, this.exit);
  }

  addOptions(...options: readonly Option[]): this {
    for (const option of options) this.addOption(option);
    return this;
  }

  /** Text below the options in the help. */
  notes(text: string | (() => string)): this {
    return this.addHelpText("after", typeof text === "string" ? () => text : text);
  }

  /** @param work returns the exit code. */
  does(work: (...given: never[]) => Promise<number>): this {
    return this.action(async (...given) => {
      this.exit.code = await work(...(given as never[]));
    });
  }
}

export interface Cli {
  readonly program: CliCommand;
  /** A command by its name, with its options; undefined where there is none. It cannot be run. */
  readonly load: (name: string) => Promise<Command | undefined>;
  /** What the environment and the files of the working directory set. */
  readonly settings: readonly ResolvedSetting[];
  /** Aborts on Ctrl-C and on SIGTERM. */
  readonly signal: AbortSignal;
}

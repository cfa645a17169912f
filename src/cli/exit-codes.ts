import type { ImportReport } from "../jobs/import/run-import.js";
import type { RunStatus } from "../schema/runs.js";

/** Exit codes of every command. */
export const EXIT = {
  done: 0,
  /** Partial, or findings. */
  partial: 1,
  usage: 2,
  /** Refused by the service. */
  refused: 3,
  interrupted: 130,
} as const;

/** The exit code for the end of a run. */
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

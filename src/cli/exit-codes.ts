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

/** The exit code of a run that ended so. */
export function exitOfRun(status: RunStatus): number {
  switch (status) {
    case "complete":
      return EXIT.done;
    case "partial":
    case "failed":
      return EXIT.partial;
    case "refused":
      return EXIT.refused;
    case "interrupted":
      return EXIT.interrupted;
  }
}

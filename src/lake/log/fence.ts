import { LakeError } from "../../core/errors.js";
import type { Snapshot } from "./snapshot.js";

/**
 * The right of a process to commit. A process that was paused may have lost it without noticing, and may be in the middle
 * of a commit: so the process that takes the right over first commits the id of the former holder to each table. A commit of the
 * former holder either comes before that, and the new holder sees it, or finds its id in the log, and is not made.
 */
export interface Fence {
  /** Identifies the holder's lease. */
  readonly id: string;
  /** @throws {LakeError} where another process has taken the lease over, or where the leases cannot be read. */
  confirm(): Promise<void>;
}

/** The work that a former holder may not do because another process has taken its lease over. */
export class FencedError extends LakeError {
  constructor(what: string) {
    super(`${what}: another process has taken over from this one, which gave no sign of life for too long`, {
      hint: "run the command again once the other one has ended: it goes on where that stopped",
    });
  }
}

/** The transaction in the log of a table that prevents commits of a former holder. */
export const fenceName = (id: string): string => `fenced/${id}`;

/** Confirms the right to commit after a version. @throws {LakeError} where it is lost. */
export async function expectUnfenced(base: Snapshot, fence: Fence): Promise<void> {
  if (base.txns.has(fenceName(fence.id))) throw new FencedError(`table ${base.table.name}`);
  await fence.confirm();
}

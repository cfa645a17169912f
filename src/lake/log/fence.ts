import { LakeError } from "../../core/errors.js";
import type { Snapshot } from "./snapshot.js";

/**
 * The right of a process to commit. A process that was paused may have lost it without noticing, even in the middle of
 * a commit. So the process that takes the right over first commits the id of the former holder to each table. A commit
 * of the former holder then either comes before that commit, and the new holder sees it; or the former holder finds its
 * id in the log and does not commit.
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

/** The name of the transaction in a table's log that prevents commits of a former holder. */
export const fenceName = (id: string): string => `${FENCED}${id}`;
const FENCED = "fenced/";

export function isFence(name: string): boolean {
  return name.startsWith(FENCED);
}

/**
 * Makes sure that a version does not exclude a holder, and that the holder still has its lease. @throws {LakeError}
 * where the right is lost.
 */
export async function expectUnfenced(base: Snapshot, fence: Fence): Promise<void> {
  if (base.txns.has(fenceName(fence.id))) throw new FencedError(`table ${base.table.name}`);
  await fence.confirm();
}

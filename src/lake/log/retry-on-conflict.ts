import { randomInt } from "node:crypto";
import type { TableSchema } from "../../schema/column.js";
import type { Lake } from "../lake.js";
import { tooManyWriters } from "./commit.js";
import type { Snapshot } from "./snapshot.js";

/** Most attempts, if other writers change what each of them was made for. */
const MAX_TRIES = 40;
/**
 * Longest wait, in milliseconds, before the next attempt. Waits are random, so that two writers do not collide
 * repeatedly.
 */
const MAX_WAIT_MS = 250;

/**
 * Changes a table at its newest version, again as long as a commit of another writer conflicts.
 *
 * @param change makes one attempt. It returns undefined where another commit conflicts, and then has committed nothing.
 * @returns what the first attempt without a conflict returns.
 * @throws {CommitConflict} when other writers were first at every attempt. Then nothing was committed.
 */
export async function retryOnConflict<Result extends object | number>(
  lake: Lake,
  table: TableSchema,
  change: (base: Snapshot) => Promise<Result | undefined>,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    const base = await lake.snapshot(table);
    const result = await change(base);
    if (result !== undefined) return result;
    if (attempt === MAX_TRIES) throw tooManyWriters(base, MAX_TRIES);
    await lake.clock.sleep(randomInt(1, Math.min(MAX_WAIT_MS, 4 * 2 ** attempt)));
  }
}

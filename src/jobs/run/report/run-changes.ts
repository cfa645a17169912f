import type { Clock } from "../../../core/time.js";
import type { Lake } from "../../../lake/lake.js";
import { changesOfLake, type ReferenceChange, WITH_CHANGES } from "../../../lake/land/reference-changes.js";
import type { LandReport } from "../../../lake/land/upsert.js";

/** What the snapshots of a run have changed. @param run.startedAt epoch milliseconds. */
export async function changesOf(
  {
    lake,
    clock,
    startedAt,
  }: { readonly lake: Lake; readonly clock: Pick<Clock, "now">; readonly startedAt: number },
  landed: readonly LandReport[],
): Promise<readonly ReferenceChange[]> {
  const hasChanged = landed.some(
    ({ table, inserted, updated }) => WITH_CHANGES.has(table) && inserted + updated > 0,
  );
  return hasChanged ? changesOfLake(lake, { since: startedAt, until: clock.now() }) : [];
}

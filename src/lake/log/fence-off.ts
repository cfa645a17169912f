import type { TableSchema } from "../../schema/column.js";
import type { Lake } from "../lake.js";
import { commitWithRetries } from "./commit.js";
import { commitInfoAction, txnAction } from "./commit-actions.js";
import { fenceName } from "./fence.js";
import { schemaActions } from "./schema-actions.js";

/**
 * Prevents all later commits of a former holder to a table.
 *
 * @param now epoch milliseconds.
 * @throws {LakeError} where the commit that does this cannot be made.
 */
export async function fenceOff(
  lake: Lake,
  table: TableSchema,
  former: { readonly id: string; readonly runId: string },
  now: number,
): Promise<void> {
  for (;;) {
    const base = await lake.snapshot(table);
    if (base.txns.has(fenceName(former.id))) return;
    const actions = [
      commitInfoAction({ operation: "FENCE", runId: former.runId, now }, {}),
      ...(base.version < 0 ? schemaActions(base, base.columns, now) : []),
      txnAction(fenceName(former.id), now),
    ];
    if ((await commitWithRetries(lake, base, { actions, stillHolds: () => true, now })) !== undefined) return;
  }
}

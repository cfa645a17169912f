import { LakeError } from "../../core/errors.js";
import type { Lake, ReplacedTable } from "../../lake/lake.js";
import type { Fence } from "../../lake/log/fence.js";
import type { TableSchema } from "../../schema/column.js";

/**
 * The right of a run to request and to land: that of its lease, as long as the lake is the one of its plan. Where a table
 * is found replaced, the run ends: what it has planned and recorded is about the rows of the former lake.
 *
 * @param tables those in which the run lands.
 * @param fence the right that the run needs otherwise.
 */
export async function inOneLake(
  lake: Lake,
  runId: string,
  tables: readonly TableSchema[],
  fence: Fence | undefined,
): Promise<Fence & Disposable> {
  // A table that was replaced before is noticed now. One that cannot be read is reported by what needs it.
  await Promise.allSettled(tables.map((table) => lake.snapshot(table)));
  let replaced: ReplacedTable | undefined;
  const end = lake.onReplaced((one) => {
    if (tables.some(({ name }) => name === one.table)) replaced ??= one;
  });
  return {
    id: fence?.id ?? runId,
    async confirm() {
      if (replaced !== undefined)
        throw new LakeError(`table ${replaced.table}: was replaced, as by a backup, while the run worked`, {
          hint: "run it again: it then begins with what the lake has now",
        });
      await fence?.confirm();
    },
    [Symbol.dispose]: end,
  };
}

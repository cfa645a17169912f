import type { Clock } from "../../core/time.js";
import type { TableSchema } from "../../schema/column.js";
import { CODEC_KEY, type Codec } from "../files/codec.js";
import type { Lake } from "../lake.js";
import { commitWithRetries } from "../log/commit.js";
import { commitInfoAction } from "../log/commit-actions.js";
import { retryOnConflict } from "../log/retry-on-conflict.js";

/**
 * Stores the codec of a table's compacted files in the table's configuration. Commits nothing where the configuration
 * has it already, and for a table without a commit.
 *
 * @throws {CommitConflict} when other writers were first at every attempt. Then nothing was committed.
 */
export async function setCodec(
  lake: Lake,
  table: TableSchema,
  codec: Codec,
  runId: string,
  clock: Clock,
): Promise<void> {
  await retryOnConflict(lake, table, async (base) => {
    const { metaData } = base;
    if (metaData === undefined || metaData.configuration[CODEC_KEY] === codec) return base;
    const configuration = { ...metaData.configuration, [CODEC_KEY]: codec };
    const now = clock.now();
    return await commitWithRetries(lake, base, {
      actions: [
        commitInfoAction({ operation: "SET TBLPROPERTIES", runId, now }, {}),
        { metaData: { ...metaData, configuration } },
      ],
      stillHolds: () => true,
      now,
    });
  });
}

import { literalList } from "../../db/quote.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import { UNIVERSES } from "../../schema/reference.js";
import type { Run } from "../run/run.js";

/** Most symbols that a failure names. */
const NAMED = 5;

/**
 * Reports symbols that cannot be requested, because their exchange is not known.
 *
 * @param list what they are: members of universes, or instruments.
 */
export function noteUnknown(run: Run, symbols: readonly string[], list: string): void {
  const named = symbols.slice(0, NAMED).join(", ") + (symbols.length > NAMED ? ", ..." : "");
  const reason = `their exchanges are not known, so they are not requested: ${named}; to leave them out, name their exchanges in withoutExchanges of the pipeline`;
  run.log.failure({ dataset: undefined, request: list, reason, symbols: symbols.length });
}

/**
 * Reports universes that the service lists no more. Their members in the lake are those of the last snapshot with them,
 * and stay as they were.
 */
export async function noteEndedUniverses(run: Run, universes: readonly string[]): Promise<void> {
  const { session, lake } = run.context;
  const files = await parquetRelation(session, lake.filesOf(await lake.snapshot(UNIVERSES)));
  const ended = await session.json<{ id: string; since: string }>(
    `SELECT id, CAST(max(valid_to) AT TIME ZONE 'UTC' AS DATE)::VARCHAR AS since FROM (${files})
     WHERE id IN (SELECT unnest(${literalList(universes)})) GROUP BY id
     HAVING count(*) FILTER (valid_to IS NULL) = 0 ORDER BY id`,
  );
  for (const { id, since } of ended) {
    const reason = `the service has not listed this universe since ${since}, so its members in the lake do not change any more; leave it out, or name another one`;
    run.log.failure({ dataset: undefined, request: `universe ${id}`, reason, symbols: 0 });
  }
}

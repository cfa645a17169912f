import type { LakeVersion } from "./lake-version.js";
import { REFERENCE_TABLES } from "./reference-data.js";

/**
 * The instants (epoch milliseconds, ascending) at which changes of reference data were first seen. Between two of them
 * the known reference data does not change.
 */
export async function loadReferenceTimes(version: LakeVersion): Promise<number[]> {
  return version.query(async (session) => {
    const parts: string[] = [];
    for (const table of REFERENCE_TABLES) {
      const snapshot = await version.snapshot(table);
      const relation = await version.relation(session, snapshot, snapshot.files.values());
      parts.push(`SELECT unnest([valid_from, valid_to]) AS seen FROM (${relation})`);
    }
    const rows = await session.json<{ at: number }>(
      `SELECT DISTINCT CAST(ceil(epoch_us(seen) / 1000) AS DOUBLE) AS "at" FROM (${parts.join(" UNION ALL ")})
       WHERE seen IS NOT NULL ORDER BY "at"`,
    );
    return rows.map(({ at }) => at);
  });
}

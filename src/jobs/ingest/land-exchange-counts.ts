import type { Session } from "../../db/session/session.js";
import { TempTable } from "../../db/session/temp-table.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { Lake } from "../../lake/lake.js";
import { landVersions } from "../../lake/land/land-versions.js";
import type { LandOptions, LandReport } from "../../lake/land/upsert.js";
import type { TableSchema } from "../../schema/column.js";
import { INSTRUMENTS } from "../../schema/reference.js";

/** Lands the exchanges with counts of the lake's current instruments, for lakes that are filled without a service. */
export async function landExchangeCounts(
  session: Session,
  lake: Lake,
  exchanges: TableSchema,
  options: LandOptions,
): Promise<LandReport> {
  const live = await parquetRelation(session, lake.filesOf(await lake.snapshot(INSTRUMENTS)));
  await using counts = new TempTable(session, "exchange_counts");
  await counts.fill(
    `SELECT exchange, region, count(*) AS "count" FROM (${live}) WHERE valid_to IS NULL GROUP BY ALL`,
  );
  return await landVersions(session, lake, exchanges, counts.name, options);
}

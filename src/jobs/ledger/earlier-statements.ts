import type { Session } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { Lake } from "../../lake/lake.js";
import type { EarlierStatements } from "../../plan/absence/absent-statements.js";
import type { TableSchema } from "../../schema/column.js";
import { ledgerSql } from "./ledger-sql.js";

/** Reads which statements of a table the lake has, and which symbols were absent in earlier responses. */
export async function readEarlierStatements(
  session: Session,
  lake: Lake,
  table: TableSchema,
): Promise<EarlierStatements> {
  const live = await parquetRelation(session, lake.filesOf(await lake.snapshot(table)));
  const known = await session.json<{ symbol: string }>(
    `SELECT symbol FROM (${live}) GROUP BY symbol ORDER BY max(period_end) DESC, symbol`,
  );
  const lacking = await session.json<{ symbol: string; believed: boolean; runs: number }>(
    `SELECT symbol, bool_or(status = 'answered') AS believed,
       (count(DISTINCT run_id) FILTER (status = 'failed'))::INT AS runs
     FROM (SELECT unnest(absent) AS symbol, status, run_id FROM (${await ledgerSql(session, lake)})
       WHERE dataset = $1 AND window_start IS NULL
         AND ((status = 'answered' AND reason IS NULL) OR (status = 'failed' AND http_status = 200)))
     GROUP BY symbol`,
    [table.name],
  );
  return {
    inLake: new Set(known.map(({ symbol }) => symbol)),
    absentBefore: new Set(lacking.flatMap(({ symbol, believed }) => (believed ? [symbol] : []))),
    emptyRuns: new Map(lacking.map(({ symbol, runs }) => [symbol, runs])),
  };
}

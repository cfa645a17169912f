import type { Session } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { Lake } from "../../lake/lake.js";
import type { EarlierStatements, SetAsideStatements } from "../../plan/absence/absent-statements.js";
import type { TableSchema } from "../../schema/column.js";
import { instantSql, ledgerSql, ROWS_SET_ASIDE } from "./ledger.js";

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

/**
 * The symbols of which a statement was set aside in the last response, and in how many runs in a row. Responses from
 * before a loss in the table do not count. An absent symbol has no statement that could be set aside.
 */
export async function readSetAsideStatements(
  session: Session,
  lake: Lake,
  table: string,
): Promise<Map<string, SetAsideStatements>> {
  const rows = await session.json<SetAsideStatements & { readonly symbol: string }>(
    `WITH of_table AS (FROM (${await ledgerSql(session, lake)}) WHERE dataset = $1),
       responses AS (
         SELECT unnest(symbols) AS symbol, absent, run_id, asked_at, status, reason FROM of_table
         WHERE http_status = 200 AND asked_at >=
           coalesce((SELECT max(asked_at) FROM of_table WHERE status = 'lost'), ${instantSql(0)})),
       last AS (SELECT symbol, max(asked_at) AS answered_at FROM responses
         WHERE status IN ('answered', 'empty') GROUP BY symbol)
     SELECT symbol, count(DISTINCT run_id)::DOUBLE AS runs, epoch_ms(max(asked_at))::DOUBLE AS "askedAt"
     FROM responses LEFT JOIN last USING (symbol)
     WHERE status = 'failed' AND contains(reason, $2) AND NOT list_contains(absent, symbol)
       AND asked_at > coalesce(answered_at, ${instantSql(0)})
     GROUP BY symbol`,
    [table, ROWS_SET_ASIDE],
  );
  return new Map(rows.map(({ symbol, ...earlier }) => [symbol, earlier]));
}

import type { Session } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { Lake } from "../../lake/lake.js";
import type { TableSchema } from "../../schema/column.js";
import { subjectOf } from "../../schema/reference.js";
import { instantSql, ledgerSql } from "./ledger-sql.js";

/** A response about a list, such as the members of a universe. */
export interface ListResponse {
  readonly runId: string;
  /** Epoch milliseconds. */
  readonly askedAt: number;
  /** Why it was not accepted; undefined where it was. */
  readonly fault: string | undefined;
}

/** The responses about a list in the ledger, oldest first. @param list the exchange, or the universe's id. */
export async function listResponses(
  session: Session,
  lake: Lake,
  dataset: string,
  list: string,
): Promise<ListResponse[]> {
  const rows = await session.json<{ id: string; at: number; status: string; reason: string | null }>(
    `SELECT run_id AS id, epoch_ms(asked_at)::DOUBLE AS at, status, reason FROM (${await ledgerSql(session, lake)})
     WHERE dataset = $1 AND http_status = 200 AND list_contains(symbols, $2) ORDER BY asked_at`,
    [dataset, list],
  );
  return rows.map(({ id, at, status, reason }) => {
    return { runId: id, askedAt: at, fault: status === "failed" ? (reason ?? "") : undefined };
  });
}

/** Number of elements that a list had just before an instant (epoch ms). @param where a condition on its rows. */
export async function elementsBefore(
  session: Session,
  lake: Lake,
  table: TableSchema,
  where: string,
  before: number,
): Promise<number> {
  const files = await parquetRelation(session, lake.filesOf(await lake.snapshot(table)));
  const instant = instantSql(before);
  const [row] = await session.json<{ elements: number }>(
    `SELECT count(DISTINCT (${subjectOf(table).join(", ")}))::DOUBLE AS elements FROM (${files})
     WHERE ${where} AND valid_from < ${instant} AND (valid_to IS NULL OR valid_to >= ${instant})`,
  );
  return row?.elements ?? 0;
}

import { ident } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { TempTable } from "../../db/session/temp-table.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { TableSchema } from "../../schema/column.js";
import type { Lake } from "../lake.js";
import type { Snapshot } from "../log/snapshot.js";
import { type LandOptions, type LandReport, upsertDerived } from "./upsert.js";

const SEEN = "first_seen_at";

/**
 * Lands what sources say about instruments, such as corporate actions, in a table with the time at which each row was
 * first seen. What a row does not say keeps the value of the newest version of its subject. Where the table's key has
 * that time, a row that says something else becomes a new version, seen after the one before even if a clock goes back;
 * else it replaces the row, which keeps its time. A row that says nothing new changes nothing.
 *
 * @param staged a temporary table with the table's columns but `first_seen_at`, one row for each subject.
 */
export async function landActions(
  session: Session,
  lake: Lake,
  table: TableSchema,
  staged: string,
  options: LandOptions,
): Promise<LandReport> {
  const subject = table.key.filter((name) => name !== SEEN);
  const hasVersions = table.key.includes(SEEN);
  const fields = table.columns
    .map(({ name }) => name)
    .filter((name) => name !== SEEN && !subject.includes(name) && !table.partition.includes(name));
  const same = subject.map((name) => `s.${ident(name)} = l.${ident(name)}`).join(" AND ");
  const now = `make_timestamptz(${options.now * 1000}::BIGINT)`;
  const seen = hasVersions
    ? `greatest(${now}, l.${SEEN} + INTERVAL 1 MILLISECOND)`
    : `coalesce(l.${SEEN}, ${now})`;
  const select = [
    ...[...subject, ...table.partition].map((name) => `s.${ident(name)}`),
    ...fields.map((name) => `coalesce(s.${ident(name)}, l.${ident(name)}) AS ${ident(name)}`),
    `${seen} AS ${SEEN}`,
  ];
  const differs = fields.map(
    (name) => `(s.${ident(name)} IS NOT NULL AND s.${ident(name)} IS DISTINCT FROM l.${ident(name)})`,
  );
  await using rows = new TempTable(session, "action_rows");
  const make = async (base: Snapshot): Promise<string> => {
    const live = await parquetRelation(session, lake.filesOf(base));
    const newest = `QUALIFY row_number() OVER (PARTITION BY ${subject.map(ident).join(", ")} ORDER BY ${SEEN} DESC) = 1`;
    await rows.fill(`WITH l AS (SELECT * FROM (${live}) ${hasVersions ? newest : ""})
      SELECT ${select.join(", ")} FROM ${ident(staged)} s LEFT JOIN l ON ${same}
      WHERE l.symbol IS NULL OR ${differs.join(" OR ")}`);
    return rows.name;
  };
  // The rows are whole: nothing of a row with the same key is kept.
  const report = await upsertDerived(session, lake, table, make, { ...options, merge: "replace" });
  const [counts] = await session.json<{ n: number }>(`SELECT count(*)::DOUBLE AS n FROM ${ident(staged)}`);
  return { ...report, unchanged: (counts?.n ?? 0) - report.inserted - report.updated };
}

import { regionSql } from "../../db/market/region-sql.js";
import { unknownExchangeReasonSql } from "../../db/market/symbol-sql.js";
import { ident } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { TempTable } from "../../db/session/temp-table.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { TableSchema } from "../../schema/column.js";
import type { Lake } from "../lake.js";
import type { Snapshot } from "../log/snapshot.js";
import { clearFields, finiteRows } from "./clear-values.js";
import { evolvedColumns } from "./evolve-columns.js";
import { landKeptStatements } from "./keep-statements.js";
import type { Rejects } from "./rejects.js";
import { stagedColumns } from "./staged-rows.js";
import { type LandOptions, type LandReport, upsertDerived } from "./upsert.js";

/** Names of additional columns of staged statements. No field can have such a name. */
const RULE = '"its rule"';
const OCCURRENCE = '"its occurrence"';

/**
 * Lands statements: a row becomes a new version if its content differs from the newest version of the same symbol,
 * period and announcement. A row with the same content changes nothing. What files do not say is kept as
 * {@link landKeptStatements} says.
 *
 * @throws {LakeError} for a column whose type differs from the table's.
 * @param options.rejects receives the statements that break a rule.
 * @param staged a temporary table with symbol, period_end, announce_date, source, line and numeric fields by name.
 */
export async function landStatements(
  session: Session,
  lake: Lake,
  table: TableSchema,
  staged: string,
  { rejects, ...options }: LandOptions & { readonly rejects: Rejects },
): Promise<LandReport> {
  if (options.merge === "keep")
    return landKeptStatements(session, lake, table, staged, { ...options, rejects });
  const base = await lake.snapshot(table);
  const delivered = await stagedColumns(session, staged);
  evolvedColumns(base, delivered);
  await clearFields(session, table, staged, delivered, rejects);
  const fields = [...delivered.keys()].filter(
    (name) => !["symbol", "period_end", "announce_date", "source", "line"].includes(name),
  );
  await using judged = new TempTable(session, "judged_statements");
  await using versions = new TempTable(session, "versions");
  await judged.fill(`SELECT *, CASE WHEN region IS NULL THEN 'unknown_exchange' WHEN ${OCCURRENCE} > 1 THEN 'duplicate_key' END AS ${RULE}
    FROM (SELECT *, ${regionSql("symbol")} AS region,
      row_number() OVER (PARTITION BY symbol, period_end, announce_date ORDER BY source, line) AS ${OCCURRENCE}
      FROM (${finiteRows(staged, delivered)}))`);
  await rejects.add(
    table.name,
    `SELECT source, line, symbol, CAST(period_end AS VARCHAR) AS timestamp, ${RULE} AS rule,
       CASE ${RULE} WHEN 'duplicate_key' THEN symbol || ' ' || period_end || ' is repeated in this delivery; the first version was used'
         ELSE ${unknownExchangeReasonSql("symbol")} END AS reason, NULL AS row
     FROM ${judged.name} WHERE ${RULE} IS NOT NULL`,
  );
  const make = async (newest: Snapshot): Promise<string> => {
    const live = await parquetRelation(session, lake.filesOf(newest));
    const known = new Set(newest.columns.map((column) => column.name));
    const differs = fields.map((name) =>
      known.has(name) ? `s.${ident(name)} IS DISTINCT FROM l.${ident(name)}` : `s.${ident(name)} IS NOT NULL`,
    );
    await versions.fill(`WITH l AS (
        SELECT * FROM (${live})
        QUALIFY row_number() OVER (PARTITION BY symbol, period_end, announce_date ORDER BY first_seen_at DESC) = 1)
      SELECT s.* EXCLUDE (source, line, ${OCCURRENCE}, ${RULE}), make_timestamptz(${options.now * 1000}::BIGINT) AS first_seen_at
      FROM ${judged.name} s
      LEFT JOIN l ON s.symbol = l.symbol AND s.period_end = l.period_end
        AND s.announce_date IS NOT DISTINCT FROM l.announce_date
      WHERE s.${RULE} IS NULL AND (l.symbol IS NULL ${differs.map((test) => `OR ${test}`).join(" ")})`);
    return versions.name;
  };
  const report = await upsertDerived(session, lake, table, make, options);
  const [counts] = await session.json<{ offered: bigint }>(
    `SELECT count(*) AS offered FROM ${judged.name} WHERE ${RULE} IS NULL`,
  );
  return { ...report, unchanged: Number(counts?.offered) - report.inserted - report.updated };
}

import { regionSql, unknownExchangeReasonSql } from "../../db/market/region-sql.js";
import { ident } from "../../db/quote.js";
import { countRows } from "../../db/session/count-rows.js";
import { type Session, TempTable } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { TableSchema } from "../../schema/column.js";
import { statementFieldsOf } from "../../schema/statements.js";
import type { Lake } from "../lake.js";
import type { Snapshot } from "../log/snapshot.js";
import { clearFields, finiteRows } from "./clear-values.js";
import type { Rejects } from "./rejects.js";
import { evolvedColumns, stagedColumns } from "./staged-rows.js";
import { type LandOptions, type LandReport, upsertDerived } from "./upsert.js";

const NO_FIELDS = new Set(["symbol", "period_end", "announce_date", "source", "line", "ordinal"]);
const KEY = "symbol, period_end, announce_date";

/** The condition that a row of `a` and one of `b` are of the same announcement. */
function isSame(a: string, b: string): string {
  return `${a}.symbol = ${b}.symbol AND ${a}.period_end = ${b}.period_end AND ${a}.announce_date IS NOT DISTINCT FROM ${b}.announce_date`;
}

/**
 * Lands statements of files, which say only some things. A field that a row lacks keeps the value of the newest version
 * of the same symbol, period and announcement; a row becomes a new version if one of its fields differs from that. A row
 * without an announcement is of the one before it in the files, else of the one of its period that the lake saw last.
 * Of rows of the same statement the later one counts, field by field; those that said otherwise are listed in the
 * rejects.
 *
 * @param staged as in `landStatements`, with `ordinal`, which ascends from the first row of the files to the last.
 */
async function landKeptStatements(
  session: Session,
  lake: Lake,
  table: TableSchema,
  staged: string,
  { rejects, ...options }: LandOptions & { readonly rejects: Rejects },
): Promise<LandReport> {
  const delivered = await stagedColumns(session, staged);
  evolvedColumns(await lake.snapshot(table), delivered);
  await clearFields(session, table, staged, delivered, rejects);
  const fields = [...delivered.keys()].filter((name) => !NO_FIELDS.has(name)).map(ident);
  await using rows = new TempTable(session, "statement_rows");
  await using merged = new TempTable(session, "merged_statements");
  await using versions = new TempTable(session, "versions");
  await rows.fill(`SELECT * REPLACE (coalesce(announce_date, last_value(announce_date IGNORE NULLS) OVER before) AS announce_date),
      ${regionSql("symbol")} AS region FROM (${finiteRows(staged, delivered)})
    WINDOW before AS (PARTITION BY symbol, period_end ORDER BY ordinal ROWS UNBOUNDED PRECEDING)`);
  await rejects.add(
    table.name,
    `SELECT source, line, symbol, CAST(period_end AS VARCHAR) AS timestamp, 'unknown_exchange' AS rule,
       ${unknownExchangeReasonSql("symbol")} AS reason, NULL AS row FROM ${rows.name} WHERE region IS NULL`,
  );
  const last = [...fields, "region", "source", "line"].map((name) => `arg_max(${name}, ordinal) AS ${name}`);
  await merged.fill(`SELECT ${KEY}, ${last.join(", ")}, max(ordinal) AS ordinal, count(*) AS "rows"
    FROM ${rows.name} WHERE region IS NOT NULL GROUP BY ALL`);
  const unchanged = await rejectReplaced(session, table, rows.name, merged.name, fields, rejects);
  const make = async (newest: Snapshot): Promise<string> => {
    await versions.fill(await versionsSql(session, lake, newest, merged.name, fields, options.now));
    return versions.name;
  };
  // The versions are whole: nothing of a row with the same key is kept.
  const report = await upsertDerived(session, lake, table, make, { ...options, merge: "replace" });
  const offered = unchanged + (await countRows(session, merged.name));
  return { ...report, unchanged: offered - report.inserted - report.updated };
}

/** @returns the number of rows that a later one repeats, in all that they say. */
async function rejectReplaced(
  session: Session,
  table: TableSchema,
  rows: string,
  merged: string,
  fields: readonly string[],
  rejects: Rejects,
): Promise<number> {
  const [found] = await session.json<{ n: number }>(
    `SELECT coalesce(sum("rows" - 1), 0)::DOUBLE AS n FROM ${merged}`,
  );
  const repeats = found?.n ?? 0;
  if (repeats === 0) return 0;
  // Of a null, the comparison is null.
  const differs = fields.map((name) => `r.${name} <> m.${name}`).join(" OR ") || "false";
  const replaced = `${rows} r JOIN ${merged} m ON ${isSame("r", "m")} WHERE r.ordinal < m.ordinal AND (${differs})`;
  await rejects.add(
    table.name,
    `SELECT r.source, r.line, r.symbol, CAST(r.period_end AS VARCHAR) AS timestamp, 'duplicate_key' AS rule,
       concat(r.symbol, ' ', r.period_end, ' is repeated; ', m.source, ' line ' || m.line, ' was used') AS reason, NULL AS row FROM ${replaced}`,
  );
  return repeats - (await countRows(session, replaced));
}

async function versionsSql(
  session: Session,
  lake: Lake,
  newest: Snapshot,
  merged: string,
  fields: readonly string[],
  now: number,
): Promise<string> {
  const live = await parquetRelation(session, lake.filesOf(newest));
  const known = new Set(newest.columns.map(({ name }) => ident(name)));
  const differs = fields.map((name) =>
    known.has(name)
      ? `(s.${name} IS NOT NULL AND s.${name} IS DISTINCT FROM l.${name})`
      : `s.${name} IS NOT NULL`,
  );
  const values = fields.map((name) =>
    known.has(name) ? `coalesce(s.${name}, l.${name}) AS ${name}` : `s.${name}`,
  );
  const unsaid = statementFieldsOf(newest)
    .map(({ name }) => ident(name))
    .filter((name) => !fields.includes(name))
    .map((name) => `l.${name}`);
  const last = fields.map((name) => `arg_max(s.${name}, s.ordinal) AS ${name}`);
  return `WITH live AS (${live}),
    l AS (SELECT * FROM live QUALIFY row_number() OVER (PARTITION BY ${KEY} ORDER BY first_seen_at DESC) = 1),
    period AS (SELECT symbol, period_end, announce_date FROM l
      QUALIFY row_number() OVER (PARTITION BY symbol, period_end ORDER BY first_seen_at DESC, announce_date DESC NULLS LAST) = 1),
    s AS (SELECT s.symbol, s.period_end, coalesce(s.announce_date, p.announce_date) AS announce_date,
        ${[...last, "any_value(s.region) AS region"].join(", ")}
      FROM ${merged} s LEFT JOIN period p ON p.symbol = s.symbol AND p.period_end = s.period_end GROUP BY ALL)
    SELECT s.symbol, s.period_end, s.announce_date, s.region, ${[...values, ...unsaid].map((one) => `${one}, `).join("")}
      make_timestamptz(${now * 1000}::BIGINT) AS first_seen_at
    FROM s LEFT JOIN l ON ${isSame("s", "l")} WHERE ${["l.symbol IS NULL", ...differs].join(" OR ")}`;
}

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
  const offered = await countRows(session, `${judged.name} WHERE ${RULE} IS NULL`);
  return { ...report, unchanged: offered - report.inserted - report.updated };
}

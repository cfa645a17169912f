import { volumeSql } from "../../db/market/bar-sql.js";
import { lotSql } from "../../db/market/region-sql.js";
import { ident } from "../../db/quote.js";
import { Session } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { Lake } from "../../lake/lake.js";
import { spillOptions } from "../../lake/local/work-folder.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import { EX_FACTORS } from "../../schema/actions.js";
import { ABSENCES_1D, KLINE_COLUMNS, TRADING_DAYS } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { REQUESTS, RUNS } from "../../schema/runs.js";
import { TABLES } from "../../schema/tables.js";

/** Tables that a lake fills itself, and no service delivers; and factors, which a service derives from its bars. */
const NOT_COMPARED = new Set([REQUESTS, RUNS, TRADING_DAYS, ABSENCES_1D, EX_FACTORS].map(({ name }) => name));

interface TableComparison {
  readonly table: string;
  readonly rows: number;
  /** Rows that only one of the lakes has. */
  readonly onlyLeft: number;
  readonly onlyRight: number;
}

/** Columns that state when a lake learned something. They differ between lakes with the same content. */
const OWN_TO_A_LAKE = new Set([
  "valid_from",
  "valid_to",
  "first_seen_at",
  "is_final",
  "lot",
  "year",
  "month",
]);

/**
 * Compares the contents of two lakes, table by table: every bar with each bit of each double, and volumes in the
 * region's unit; and the current rows of dated tables, without rows that a service derived. A service's responses
 * contain no more than this.
 */
export async function compareLakes(left: Lake, right: Lake): Promise<TableComparison[]> {
  using session = await Session.open({
    ...spillOptions(right.work),
    stores: [...(left.access.stores ?? []), ...(right.access.stores ?? [])],
  });
  const results: TableComparison[] = [];
  for (const table of TABLES) {
    if (NOT_COMPARED.has(table.name)) continue;
    const [a, b] = [await left.snapshot(table), await right.snapshot(table)];
    const compared = a.columns
      .map(({ name }) => name)
      .filter((name) => !OWN_TO_A_LAKE.has(name) && b.columns.some((column) => column.name === name));
    const side = async (lake: Lake, snapshot: Snapshot, isLeft: boolean): Promise<string> =>
      `SELECT ${isLeft} AS is_left, * FROM (${contentSql(table, compared, await parquetRelation(session, lake.filesOf(snapshot)))})`;
    const [found] = await session.json<{ rows: number; only_left: number; only_right: number }>(
      `SELECT coalesce(sum(l), 0)::DOUBLE AS rows, coalesce(sum(greatest(l - r, 0)), 0)::DOUBLE AS only_left,
         coalesce(sum(greatest(r - l, 0)), 0)::DOUBLE AS only_right
       FROM (SELECT count(*) FILTER (is_left) AS l, count(*) FILTER (NOT is_left) AS r
         FROM (${await side(left, a, true)} UNION ALL ${await side(right, b, false)})
         GROUP BY ${compared.map(ident).join(", ")})`,
    );
    results.push({
      table: table.name,
      rows: found?.rows ?? 0,
      onlyLeft: found?.only_left ?? 0,
      onlyRight: found?.only_right ?? 0,
    });
  }
  return results;
}

/** The content of a table in a form that does not depend on the lake: see {@link compareLakes}. */
function contentSql(table: TableSchema, columns: readonly string[], rows: string): string {
  const unit = `(${lotSql("region")})`;
  const volume = KLINE_COLUMNS.find((c) => c.name === "volume")?.name;
  const select = columns.map((name) =>
    name === volume && table.name.startsWith("bars_")
      ? `${volumeSql("volume", "lot", unit)} AS volume`
      : ident(name),
  );
  const has = (name: string): boolean => table.columns.some((column) => column.name === name);
  // A service derives rows when they are requested; the lake that it serves does not have them.
  const conditions = [
    ...(has("valid_to") ? ["valid_to IS NULL"] : []),
    ...(has("derived_from") ? ["derived_from IS NULL"] : []),
  ];
  const where = conditions.length > 0 ? `WHERE ${conditions.join(" AND ")}` : "";
  const newest = table.open
    ? "QUALIFY row_number() OVER (PARTITION BY symbol, period_end ORDER BY first_seen_at DESC, announce_date DESC NULLS LAST) = 1"
    : "";
  return `SELECT ${select.join(", ")} FROM (${rows}) ${where} ${newest}`;
}

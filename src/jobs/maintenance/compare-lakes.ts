import { volumeSql } from "../../db/market/bar-sql.js";
import { lotSql } from "../../db/market/region-sql.js";
import { ident } from "../../db/quote.js";
import { Session, TempTable } from "../../db/session/session.js";
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
    const columns = a.columns.map((c) => c.name).filter((name) => b.columns.some((c) => c.name === name));
    const sql = async (lake: Lake, snapshot: Snapshot): Promise<string> =>
      contentSql(table, columns, await parquetRelation(session, lake.filesOf(snapshot)));
    await using leftRows = new TempTable(session, "left_rows");
    await using rightRows = new TempTable(session, "right_rows");
    await leftRows.fill(await sql(left, a));
    await rightRows.fill(await sql(right, b));
    const [found] = await session.json<{ rows: bigint; only_left: bigint; only_right: bigint }>(
      `SELECT (SELECT count(*) FROM ${leftRows.name}) AS rows,
         (SELECT count(*) FROM (FROM ${leftRows.name} EXCEPT ALL FROM ${rightRows.name})) AS only_left,
         (SELECT count(*) FROM (FROM ${rightRows.name} EXCEPT ALL FROM ${leftRows.name})) AS only_right`,
    );
    results.push({
      table: table.name,
      rows: Number(found?.rows),
      onlyLeft: Number(found?.only_left),
      onlyRight: Number(found?.only_right),
    });
  }
  return results;
}

/** The content of a table in a form that does not depend on the lake: see {@link compareLakes}. */
function contentSql(table: TableSchema, columns: readonly string[], rows: string): string {
  const unit = `(${lotSql("region")})`;
  const volume = KLINE_COLUMNS.find((c) => c.name === "volume")?.name;
  const select = columns
    .filter((name) => !OWN_TO_A_LAKE.has(name))
    .map((name) =>
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

import { UsageError } from "../../core/errors.js";
import { literal, literalList } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import type { DatasetSpec } from "../spec.js";

/** The columns of a universe: `from_date` inclusive, `to_date` exclusive; null: unbounded. */
const UNDATED = "NULL::DATE AS from_date, NULL::DATE AS to_date, NULL::DATE AS seen_from";

/**
 * The query for a universe's members: `symbol, from_date, to_date`, a row for each range of dates, and `seen_from`:
 * when the universe was first seen, if its first members are assumed for the time before.
 *
 * @throws {UsageError} for a query without a column `symbol`.
 */
export async function universeSql(session: Session, { name, universe }: DatasetSpec): Promise<string> {
  if (typeof universe === "string") return snapshotsSql(universe);
  if (Array.isArray(universe))
    return `SELECT DISTINCT unnest(${literalList(universe)}) AS symbol, ${UNDATED}`;
  if ("region" in universe) return regionSql(universe);
  const { sql } = universe;
  const columns = await session.json<{ column_name: string }>(`DESCRIBE ${sql.replace(/[\s;]+$/, "")}`);
  const has = (column: string): boolean => columns.some((one) => one.column_name === column);
  if (!has("symbol")) {
    throw new UsageError(`dataset ${name}: universe: the query gives no column symbol`, {
      hint: "let it give symbol and, where membership is dated, from_date and to_date",
    });
  }
  const date = (column: string): string => (has(column) ? `CAST(${column} AS DATE)` : "NULL::DATE");
  return `SELECT DISTINCT CAST(symbol AS VARCHAR) AS symbol, ${date("from_date")} AS from_date, ${date("to_date")} AS to_date,
    NULL::DATE AS seen_from FROM (${sql.replace(/[\s;]+$/, "")}) WHERE symbol IS NOT NULL`;
}

/** Members as seen by the lake; the macro `members` returns the same for each date. */
function snapshotsSql(id: string): string {
  return `SELECT symbol, CASE WHEN valid_from = first THEN NULL ELSE seen_from END AS from_date, seen_to AS to_date,
      local_date(first, region) AS seen_from
    FROM (SELECT symbol, region, valid_from, min(valid_from) OVER () AS first,
      local_date(valid_from, region) AS seen_from, local_date(valid_to, region) AS seen_to
      FROM raw.universe_members WHERE id = ${literal(id)})
    WHERE seen_to IS NULL OR seen_from < seen_to`;
}

/**
 * All symbols of the lake that ever had a bar in a region: members from their first bar on, until known to be delisted.
 * What was delisted before the lake first saw the instruments of the region may have none.
 */
function regionSql({
  region,
  types,
}: {
  readonly region: string;
  readonly types?: readonly string[] | undefined;
}): string {
  const ofTypes = types === undefined ? "" : `AND list_contains(${literalList(types)}, v.type)`;
  const join = types === undefined ? "LEFT JOIN" : "JOIN";
  return `WITH by_day AS MATERIALIZED (
      SELECT symbol, min(trade_date) AS first FROM raw.bars_1d WHERE region = ${literal(region)} GROUP BY symbol),
    by_minute AS (
      SELECT symbol, min(trade_date) AS first FROM raw.bars_1m WHERE region = ${literal(region)} GROUP BY symbol)
    SELECT b.symbol, b.first AS from_date, v.to_date,
      (SELECT local_date(min(valid_from), region) FROM raw.instruments WHERE region = ${literal(region)} GROUP BY region) AS seen_from
    FROM (FROM by_day UNION ALL FROM by_minute ANTI JOIN by_day USING (symbol)) AS b
    ${join} (SELECT symbol, arg_max_null(to_date, from_date) AS to_date, arg_max(type, from_date) AS type
      FROM instrument_versions GROUP BY symbol) AS v ON v.symbol = b.symbol ${ofTypes}`;
}

import { adjustedPriceSql, volumeSql } from "../../db/market/bar-sql.js";
import { lotSql } from "../../db/market/region-sql.js";
import { literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { columnComment } from "../../db/views/raw-view.js";
import { ADJUSTMENTS, type Adjustment } from "../../market/period.js";
import { BARS_1D } from "../../schema/bars.js";
import { commentOf, ownView } from "./own-view.js";
import { COPIES } from "./sql-copy.js";

const table = `${COPIES.days.database}.${BARS_1D.name}`;

/**
 * Columns of the copied daily bars that follow from a bar alone, by name, in addition to those of the view of daily bars.
 * Views then plan no expression for them.
 */
const DERIVED: Readonly<Record<string, string>> = {
  unit: lotSql("region"),
  unit_volume: volumeSql("volume", "lot", `(${lotSql("region")})`),
};

/** What a bar's prices are adjusted by: a column of the same name for each adjustment, null where nothing is adjusted. */
const STEPS = ADJUSTMENTS.filter((adjustment) => adjustment !== "none");

/**
 * Writes the daily bars of an attached copy, in the order of the files, as in a query without ORDER BY. Its price
 * stretches must be there already.
 *
 * @param isOfSchema whether the bars have the columns of the schema: only then they get more columns, which may otherwise
 *   be those of another version.
 */
export async function writeDailyBars(session: Session, isOfSchema: boolean): Promise<void> {
  if (!isOfSchema) {
    await session.run(`CREATE TABLE ${table} AS FROM raw.${BARS_1D.name}`);
    return;
  }
  const derived = Object.entries(DERIVED).map(([name, sql]) => `${sql} AS ${name}`);
  // A join does not keep the order of rows.
  await session.run(`CREATE TABLE ${table} AS
    SELECT bar.* EXCLUDE (nth), ${derived.join(", ")}, ${STEPS.join(", ")}
    FROM (SELECT *, row_number() OVER () AS nth FROM (${ownQuery()})) AS bar
    LEFT JOIN ${COPIES.days.database}.price_stretches AS step
      ON step.symbol = bar.symbol AND trade_date >= start_date AND trade_date < end_date
    ORDER BY nth`);
}

/**
 * Makes the view of daily bars, and `adjusted`, read the derived columns of the copied bars.
 *
 * @param isNeeded whether the session has a view or a macro of this name.
 * @param hasComments whether the views get their comments.
 */
export async function readCopiedDays(
  session: Session,
  isNeeded: (name: string) => boolean,
  { hasComments }: { readonly hasComments: boolean },
): Promise<void> {
  if (isNeeded(BARS_1D.name)) {
    const { comments } = ownView(BARS_1D.name);
    const names = /^SELECT\s([\s\S]*)\sFROM /.exec(ownQuery())?.[1] ?? "";
    // Each column is on a line, as a name or as an expression with a name.
    const columns = names.replaceAll(/^.* AS (\w+),$/gm, "$1,");
    const sql = `CREATE OR REPLACE VIEW ${BARS_1D.name} AS SELECT ${columns} FROM ${table}`;
    // The comments of the file replace those of the schema.
    const all = [sql, ...BARS_1D.columns.map((column) => columnComment(BARS_1D.name, column)), comments];
    await session.run(hasComments ? all.join(";\n") : sql);
  }
  if (!isNeeded("days_query")) return;
  const cases = ADJUSTMENTS.map((one) => `WHEN ${literal(one)} THEN ${literal(adjustedDays(one))}`);
  await session.run(
    `CREATE OR REPLACE MACRO days_query(adjustment) AS CASE coalesce(adjustment, 'none') ${cases.join(" ")} END;${
      hasComments ? commentOf("days_query") : ""
    }`,
  );
}

/** The query of the view of daily bars: of the data files. */
function ownQuery(): string {
  const { create } = ownView(BARS_1D.name);
  return create.slice(create.indexOf("SELECT")).trimEnd().replace(/;$/, "");
}

/** The query of `adjusted('1d', ...)`, of copied bars. */
function adjustedDays(adjustment: Adjustment): string {
  const price = (name: string): string => {
    const sql = adjustedPriceSql(name, adjustment, adjustment);
    return sql === name ? name : `${sql} AS ${name}`;
  };
  return `SELECT symbol, trade_date, "timestamp", ${["open", "high", "low", "close"].map(price).join(", ")},
      unit_volume AS volume, amount, ${price("prev_close")}, open_interest, ${price("settlement_price")},
      unit AS lot, shares, 1::BIGINT AS landed_bars, is_final, region
    FROM ${table}`;
}

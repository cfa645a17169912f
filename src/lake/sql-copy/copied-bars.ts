import { adjustedPriceSql, volumeSql } from "../../db/market/bar-sql.js";
import { lotSql } from "../../db/market/region-sql.js";
import { ident, literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { storeList } from "../../db/views/parquet-relation.js";
import { columnComment, rawViewOf } from "../../db/views/raw-view.js";
import { ADJUSTMENTS, type Adjustment, BUCKETS, PERIODS, type Period } from "../../market/period.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import type { Column } from "../../schema/column.js";
import type { Lake } from "../lake.js";
import { copiedView } from "../viewed-table.js";
import { type AttachedCopy, builtInView, commentOf } from "./attach-sql-copy.js";
import { aggregatedMinutes, type KnownMinutes, knownMinutes } from "./copied-months.js";
import { COPIES } from "./sql-copy.js";

/** The tables of a copy of minutes: minutes, the days of a symbol without bars of longer periods, and the minutes of these days. */
export const [MINUTES_TABLE, ODD_DAYS, ODD_MINUTES] = [BARS_1M.name, "odd_days", "odd_minutes"];
/** The table of each period whose bars are in a copy of minutes. */
export const BARS_TABLES: ReadonlyMap<Period, string> = new Map(
  PERIODS.filter((period) => BUCKETS[period].kind === "minutes").map((period) => [period, `bars_${period}`]),
);

const { database } = COPIES.minutes;

interface OtherMinutes extends KnownMinutes {
  readonly ofFiles: readonly string[];
  readonly hasOddDays: boolean;
  /** The columns of minutes, in the order of `ofFiles`. */
  readonly columns: readonly Column[];
}

/** The macro that the query of copied bars needs, and the query of minutes does not. */
export const NEEDED_BY_COPIED_BARS = "adjusted_bars";

/** What the names of lists of files begin with: of files whose minutes have no copied bars. */
const OTHER_FILES = "bars_1m_without_copy";

/**
 * Makes `adjusted` read the copied bars of a period; it then aggregates only minutes that have none. Where all have,
 * it names no file.
 *
 * @param hasComments whether macros get their comments.
 */
export async function readCopiedBars(
  session: Session,
  lake: Lake,
  { file: { kind, sources }, hasOddDays }: AttachedCopy,
  { hasComments }: { readonly hasComments: boolean },
): Promise<void> {
  const [bars] = sources;
  const { snapshot } = bars;
  const viewed = copiedView(lake, snapshot, { kind, bars });
  const { ofFiles, lists } = await rawViewOf(session, viewed, OTHER_FILES);
  for (const list of lists) await storeList(session, list);
  const others = { ofFiles, hasOddDays, columns: snapshot.columns, ...knownMinutes(snapshot) };
  const comment = hasComments ? commentOf("minutes_query") : "";
  await session.run(
    `CREATE OR REPLACE MACRO minutes_query(period, adjustment) AS ${minutesQuery(others)};${comment}`,
  );
}

function minutesQuery(others: OtherMinutes): string {
  const cases = ADJUSTMENTS.map((one) => `WHEN ${literal(one)} THEN ${literal(barsQuery(one, others))}`);
  return `format(CASE coalesce(adjustment, 'none') ${cases.join(" ")} END,
    period, 60000 * CAST(rtrim(period, 'm') AS INTEGER))`;
}

/** The query of bars of a period as a format: {0} is the period, {1} its length in milliseconds. */
function barsQuery(adjustment: Adjustment, { ofFiles, hasOddDays, columns, ...known }: OtherMinutes): string {
  const bars = `${database}.bars_{0}`;
  const copied =
    adjustment === "none" ? bars : `${NEEDED_BY_COPIED_BARS}('${bars}', ${literal(adjustment)}, 'steps')`;
  const steps = `steps AS NOT MATERIALIZED (SELECT symbol, start_date, end_date, ${adjustment} AS value FROM price_stretches)`;
  const odd = `SELECT ${columns.map(({ name }) => ident(name)).join(", ")} FROM ${database}.${ODD_MINUTES}`;
  const parts = hasOddDays ? [...ofFiles, odd] : ofFiles;
  // Single braces are those of format().
  const minutes = `minutes AS NOT MATERIALIZED (${parts.join("\nUNION ALL\n").replaceAll(/[{}]/g, "$&$&")})`;
  const names = [...(adjustment === "none" ? [] : [steps]), ...(parts.length === 0 ? [] : [minutes])];
  const aggregated = parts.length === 0 ? "" : ` UNION ALL ${aggregatedMinutes(adjustment, "{1}", known)}`;
  return `${names.length === 0 ? "" : `WITH ${names.join(", ")} `}FROM ${copied}${aggregated}`;
}

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
    const { comments } = builtInView(BARS_1D.name);
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
  const { create } = builtInView(BARS_1D.name);
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

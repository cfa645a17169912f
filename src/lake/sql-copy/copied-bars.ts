import { ident, literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { storeList } from "../../db/views/file-lists.js";
import { rawViewOf } from "../../db/views/raw-view.js";
import { BUCKETS } from "../../market/bucket.js";
import { ADJUSTMENTS, type Adjustment, PERIODS, type Period } from "../../market/period.js";
import { BARS_1M } from "../../schema/bars.js";
import type { Column } from "../../schema/column.js";
import type { Lake } from "../lake.js";
import { copiedView } from "../viewed-table.js";
import { aggregatedMinutes, type KnownMinutes } from "./aggregated-minutes.js";
import type { AttachedCopy } from "./attach-sql-copy.js";
import { knownMinutes } from "./copied-months.js";
import { commentOf } from "./own-view.js";
import { COPIES } from "./sql-copy.js";

/** The tables of a copy of minutes: minutes, the days of a symbol without bars of longer periods, and the minutes of these days. */
export const [MINUTES_TABLE, ODD_DAYS, ODD_MINUTES] = [BARS_1M.name, "odd_days", "odd_minutes"];
/** The table of each period whose bars are in a copy of minutes. */
export const BARS_TABLES: ReadonlyMap<Period, string> = new Map(
  PERIODS.filter((period) => BUCKETS[period].kind === "minutes").map((period) => [period, `bars_${period}`]),
);

const { database } = COPIES.minutes;

/** Which minutes have no bars of longer periods in an attached copy. */
interface OtherMinutes extends KnownMinutes {
  /** SELECTs of the minutes in files. */
  readonly ofFiles: readonly string[];
  /** Whether days in the copy have no bars. */
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

/** The expression of the macro `minutes_query`. */
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

import { basename } from "node:path";
import { ident, literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { OWN_VIEWS, readViewTree } from "../../db/views/view-files.js";
import { BUCKETS } from "../../market/bucket.js";
import { PERIODS, type Period } from "../../market/period.js";
import { BARS_1M } from "../../schema/bars.js";
import type { Column } from "../../schema/column.js";
import { COPIES } from "./sql-copy.js";

/** The tables of a copy of minutes: the minutes, the days of a symbol without bars of longer periods, and their minutes. */
export const [MINUTES_TABLE, ODD_DAYS, ODD_MINUTES] = [BARS_1M.name, "odd_days", "odd_minutes"];
/** The table of each period whose bars are in a copy of minutes. */
export const BARS_TABLES: ReadonlyMap<Period, string> = new Map(
  PERIODS.filter((period) => BUCKETS[period].kind === "minutes").map((period) => [period, `bars_${period}`]),
);

const { database } = COPIES.minutes;

/** Which minutes have no bars of longer periods in an attached copy. */
export interface OtherMinutes {
  /** SELECTs of the minutes that are not in the copy. */
  readonly ofFiles: readonly string[];
  /** Whether days in the copy have no bars. */
  readonly hasOddDays: boolean;
  /** The columns of minutes, in the order of `ofFiles`. */
  readonly columns: readonly Column[];
}

/** The macro that the query of copied bars needs, and the query of minutes does not. */
export const NEEDED_BY_COPIED_BARS = "adjusted_bars";

/**
 * Makes `adjusted` read the copied bars of a period; it then aggregates only minutes that have none.
 *
 * @param hasComments whether macros get their comments.
 */
export async function readCopiedBars(
  session: Session,
  others: OtherMinutes,
  { hasComments }: { readonly hasComments: boolean },
): Promise<void> {
  const comment = hasComments ? commentOf("minutes_query") : "";
  await session.run(
    `CREATE OR REPLACE MACRO minutes_query(period, adjustment) AS ${minutesQuery(others)};${comment}`,
  );
}

/** The expression of the macro `minutes_query`. */
function minutesQuery({ ofFiles, hasOddDays, columns }: OtherMinutes): string {
  const odd = `SELECT ${columns.map(({ name }) => ident(name)).join(", ")} FROM ${database}.${ODD_MINUTES}`;
  const parts = hasOddDays ? [...ofFiles, odd] : ofFiles;
  // Single braces are those of format().
  const others = parts.join("\nUNION ALL\n").replaceAll(/[{}]/g, "$&$&");
  const query = (steps: readonly string[], copied: string, priced: string): string => {
    const names = [
      ...steps,
      `others AS NOT MATERIALIZED (${others})`,
      `priced AS NOT MATERIALIZED (${priced})`,
    ];
    const aggregated = " UNION ALL FROM adjusted_minutes('priced', '{0}')";
    const [used, rest] = parts.length === 0 ? [steps, ""] : [names, aggregated];
    return literal(`${used.length === 0 ? "" : `WITH ${used.join(", ")} `}FROM ${copied}${rest}`);
  };
  const steps =
    "steps AS NOT MATERIALIZED (SELECT symbol, start_date, end_date, {1} AS value FROM price_stretches)";
  const bars = `${database}.bars_{0}`;
  const unadjusted = query([], bars, "FROM unadjusted_bars('others', true)");
  const adjusted = query(
    [steps],
    `${NEEDED_BY_COPIED_BARS}('${bars}', '{1}', 'steps')`,
    "FROM priced_bars('others', true, '{1}', 'steps')",
  );
  return `format(
    CASE
      WHEN adjustment = 'none' OR adjustment IS NULL THEN ${unadjusted}
      WHEN adjustment IN ('forward', 'backward', 'forward_additive', 'backward_additive') THEN ${adjusted}
    END, period, coalesce(adjustment, 'none'))`;
}

function commentOf(name: string): string {
  const file = readViewTree(OWN_VIEWS).find(({ path }) => basename(path, ".sql") === name);
  return file?.sql.slice(file.sql.indexOf("\nCOMMENT ON")) ?? "";
}

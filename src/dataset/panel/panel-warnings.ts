import { dateOfEpochDay } from "../../core/time.js";
import { unvouchedCloses } from "../../db/market/unvouched-closes.js";
import type { Session } from "../../db/session/session.js";
import { TempTable } from "../../db/session/temp-table.js";
import { basePeriod } from "../../market/period.js";
import type { LakePanel } from "./lake-panel.js";

/** Number of symbols that a warning names. */
const NAMED = 3;

/** What users of a dataset should know before they trust it. */
export async function warningsOf(session: Session, panel: LakePanel): Promise<string[]> {
  const { spec, axes, labels, resolved } = panel;
  const warnings: string[] = [];
  const first = labels.days[0] as number;
  if (axes.absent.length > 0) {
    const names = axes.absent.slice(0, NAMED).join(", ");
    const more = axes.absent.length > NAMED ? ` and ${axes.absent.length - NAMED} more` : "";
    warnings.push(
      `${axes.absent.length} of the universe's symbols have no bar with trades in the window and are left out: ${names}${more}`,
    );
  }
  if (axes.seenFrom !== undefined && first < axes.seenFrom) {
    warnings.push(
      typeof spec.universe === "object" && "region" in spec.universe
        ? `the instruments of ${spec.universe.region} were first seen on ${dateOfEpochDay(axes.seenFrom)}: what was delisted before is missing, unless its bars were asked for by name or imported`
        : `the universe was first seen on ${dateOfEpochDay(axes.seenFrom)}: before it, its members of that day are assumed, so that who had left until then is missing`,
    );
  }
  if (typeof spec.universe === "object" && "sql" in spec.universe)
    warnings.push("the universe is a query of your own: whether its dates were known then is yours to say");
  for (const region of axes.guessed) {
    warnings.push(
      `the lake has no trading days of ${region}: the days on which anything traded are used instead; barlake run daily brings an index with them`,
    );
  }
  for (const { region, dates, first: from, last: to } of axes.assumed) {
    warnings.push(
      `${dates} dates of ${region} from ${from} to ${to} lie outside of its trading days that the lake knows: weekdays on which anything traded count as trading days there`,
    );
  }
  if (spec.adjustment.startsWith("forward"))
    warnings.push(
      "forward prices are those of the last day's charts: their levels follow from later ex-dates, and appending would change them all",
    );
  if (spec.adjustment !== "none") {
    const until = dateOfEpochDay(labels.days[labels.count - 1] as number);
    const { closes, symbols, examples } = await unvouchedCloses(session, {
      symbols: `SELECT symbol FROM ${axes.tables.symbols.name}`,
      until,
    });
    const some = examples.map(({ symbol, last, date }) => `${symbol} ${last} to ${date}`).join(", ");
    if (closes > 0)
      warnings.push(
        `${closes} price steps of ${symbols} symbols are not adjusted for: the lake lacks days between two bars that were not requested or were set aside (${some})`,
      );
  }
  for (const view of resolved.ownViews)
    warnings.push(`the view ${view} is your own: whether its rows were known on their dates is yours to say`);
  for (const field of spec.fields ?? [])
    if (typeof field === "object" && field.looksAhead)
      warnings.push(`field ${field.name} looks ahead, as its spec says`);
  const outside = await barsOutside(session, panel);
  if (outside > 0)
    warnings.push(`${outside} bars lie on dates that are no sessions of the calendar, and are left out`);
  return warnings;
}

/** Number of bars with trades on dates that are not in the calendar. */
async function barsOutside(session: Session, { spec, labels, axes }: LakePanel): Promise<number> {
  const table = `raw.bars_${basePeriod(spec.period)}`;
  const window = `trade_date BETWEEN DATE '1970-01-01' + ${labels.days[0]} AND DATE '1970-01-01' + ${labels.days[labels.count - 1]}`;
  const { sessions, symbols } = axes.tables;
  await using outside = new TempTable(session, "dates_outside");
  await outside.fill(`SELECT trade_date FROM (SELECT DISTINCT trade_date FROM ${table} WHERE ${window})
    ANTI JOIN ${sessions.name} ON trade_date = day`);
  const [any] = await session.json<{ any: boolean }>(`SELECT count(*) > 0 AS any FROM ${outside.name}`);
  if (any?.any !== true) return 0;
  const [counted] = await session.json<{ bars: number }>(
    `SELECT CAST(count(*) AS DOUBLE) AS bars FROM ${table}
     SEMI JOIN ${symbols.name} USING (symbol) SEMI JOIN ${outside.name} USING (trade_date) WHERE volume > 0`,
  );
  return counted?.bars ?? 0;
}

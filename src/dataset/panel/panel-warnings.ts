import { firstNames } from "../../core/text-order.js";
import { dateOfEpochDay, type TradingDate } from "../../core/time.js";
import { withExEvents } from "../../db/market/read-ex-rules.js";
import { type UnvouchedCloses, unvouchedCloses, type VouchedDays } from "../../db/market/unvouched-closes.js";
import { type Session, TempTable } from "../../db/session/session.js";
import { basePeriod } from "../../market/period.js";
import { type Coverage, type CoverageRange, lowestCoverage } from "./coverage.js";
import type { LakePanel } from "./lake-panel.js";

const NAMED = 3;
/** Number of symbols whose ex-events are looked for before those of all others. */
const FIRST_SYMBOLS = 50;

export interface PanelWarnings {
  readonly texts: string[];
  /** Undefined where prices are not adjusted. */
  readonly unvouched: UnvouchedCloses | undefined;
}

/**
 * What users of a dataset should know before they trust it. @param facts.coverage of its members, where these have
 * dates. @param facts.vouched what an earlier dataset says of its days, of which the lake has changed nothing since.
 * @param facts.hasExEvent whether one of its symbols is known to have an ex-event. @default it is looked for
 */
export async function warningsOf(
  session: Session,
  panel: LakePanel,
  {
    coverage,
    vouched,
    hasExEvent = false,
  }: {
    readonly coverage: Coverage | undefined;
    readonly vouched?: VouchedDays | undefined;
    readonly hasExEvent?: boolean;
  },
): Promise<PanelWarnings> {
  let unvouched: UnvouchedCloses | undefined;
  const { spec, axes, labels, resolved } = panel;
  const warnings: string[] = [];
  const first = labels.days[0] as number;
  if (axes.absent.length > 0) {
    warnings.push(
      `${axes.absent.length} of the universe's symbols have no bar with trades in the window and are left out: ${firstNames(axes.absent, NAMED)}`,
    );
  }
  const { renamed = [], nameless = [] } = axes.names ?? {};
  if (renamed.length > 0)
    warnings.push(
      `${renamed.length} members have the last name that they have in the dataset: ${firstNames(
        renamed.map((pair) => pair.join(" as ")),
        NAMED,
      )}`,
    );
  if (nameless.length > 0)
    warnings.push(
      `${nameless.length} members have a code that another company has since, and no other name: they are left out: ${firstNames(nameless, NAMED)}`,
    );
  if (axes.seenFrom !== undefined && first < axes.seenFrom) {
    warnings.push(
      typeof spec.universe === "object" && "region" in spec.universe
        ? `the instruments of ${spec.universe.region} were first seen on ${dateOfEpochDay(axes.seenFrom)}: what was delisted before is missing, unless its bars were asked for by name or imported`
        : `the members of the universe are on record from ${dateOfEpochDay(axes.seenFrom)} on: before it, those of that day are assumed, so that who had left until then is missing`,
    );
  }
  warnings.push(...survivorWarnings(coverage));
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
    unvouched = await unvouchedCloses(session, {
      symbols: `SELECT symbol FROM ${axes.tables.symbols.name}`,
      until,
      known: vouched,
    });
    const { closes, symbols, examples } = unvouched;
    const some = examples.map(({ symbol, last, date }) => `${symbol} ${last} to ${date}`).join(", ");
    if (closes > 0)
      warnings.push(
        `${closes} price steps of ${symbols.length} symbols are not adjusted for: the lake lacks days between two bars that were not requested or were set aside (${some})`,
      );
    if (!hasExEvent && !(await anyExEvent(session, panel, until)))
      warnings.push(
        `no ex-event of its symbols is known: prices are as traded, although its spec has the adjustment ${spec.adjustment}`,
      );
  }
  for (const view of resolved.userViews)
    warnings.push(`the view ${view} is your own: whether its rows were known on their dates is yours to say`);
  for (const field of spec.fields ?? [])
    if (typeof field === "object" && field.looksAhead)
      warnings.push(`field ${field.name} looks ahead, as its spec says`);
  const outside = await barsOutside(session, panel);
  if (outside > 0)
    warnings.push(`${outside} bars lie on dates that are no sessions of the calendar, and are left out`);
  return { texts: warnings, unvouched };
}

/** Whether the lake knows an ex-event of any symbol. Nearly always one of the first symbols has one. */
async function anyExEvent(session: Session, { symbols }: LakePanel, until: TradingDate): Promise<boolean> {
  const names = symbols.map(({ symbol }) => symbol);
  for (const some of [names.slice(0, FIRST_SYMBOLS), names.slice(FIRST_SYMBOLS)])
    if ((await withExEvents(session, some, { until })).size > 0) return true;
  return false;
}

/** What members without bars, and members that nobody has recorded, mean for results. */
function survivorWarnings(coverage: Coverage | undefined): string[] {
  if (coverage === undefined) return [];
  const { ranges, noBars, joined, left, isTold } = coverage;
  const warnings: string[] = [];
  const worst = lowestCoverage(ranges.filter(({ members }) => members > 0));
  if (worst !== undefined && worst.withoutBars > 0) {
    const dates = datesIn(ranges.filter(({ withoutBars }) => withoutBars > 0));
    warnings.push(
      `members without bars on ${dates} of ${datesIn(ranges)} dates, most of them on ${worst.first}: ${worst.withoutBars} of ${worst.members}${noBars.length === 0 ? "" : `; of ${noBars.length} the lake has no bars at all`}: results over the others are those of survivors`,
    );
  }
  const [none] = ranges.filter(({ members }) => members === 0);
  if (none !== undefined)
    warnings.push(
      `the universe has no members on ${datesIn(ranges.filter(({ members }) => members === 0))} dates, the first of them ${none.first}: who was one is not recorded`,
    );
  if (joined > 0 && left === 0 && isTold)
    warnings.push(
      `${joined} members joined the universe and none left: lists of today's members with the dates on which they joined look like this, and lack who has left`,
    );
  return warnings;
}

function datesIn(ranges: readonly CoverageRange[]): number {
  return ranges.reduce((sum, { dates }) => sum + dates, 0);
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

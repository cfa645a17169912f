import { DAY_MS, subtractRanges, type TimeRange } from "../../../core/time.js";
import { jsonParameter } from "../../../db/session/named-values.js";
import { parquetRelation } from "../../../db/views/parquet-relation.js";
import { fileRange } from "../../../lake/files/prune.js";
import type { Region } from "../../../market/regions.js";
import { dayAt, type TradingCalendar } from "../../../market/trading-calendar.js";
import type { Page } from "../../../plan/absence/older-bars.js";
import type { TableSchema } from "../../../schema/column.js";
import { instantSql } from "../../ledger/ledger.js";
import type { Run } from "../../run/run.js";
import type { PlanFacts } from "./bars-demand.js";

/** A symbol traded up to a time if it has bars on each of this number of sessions before it. */
const SESSIONS = 5;
/** A time that contains these sessions, also with the longest holiday among them, in milliseconds. */
const SPAN_MS = 25 * DAY_MS;

/** What is known about a demand: the calendars, the delisted symbols, and the windows with a full response. */
interface DemandFacts extends Pick<PlanFacts, "calendars" | "delistedAt" | "now"> {
  readonly answered: ReadonlyMap<string, readonly TimeRange[]>;
}

/**
 * Those of the absent symbols of a response that traded up to its window, or up to the first time in it that no
 * response has settled, according to the bars in the lake. Symbols that are delisted are left out, and so are symbols
 * that often have days without a bar: their absence is usual.
 */
export async function tradedBefore(
  run: Run,
  table: TableSchema,
  { region, window }: Page,
  absent: readonly string[],
  { calendars, delistedAt, answered, now }: DemandFacts,
): Promise<ReadonlySet<string>> {
  const byTime = new Map<number, string[]>();
  for (const symbol of absent) {
    const [open = window] = subtractRanges(window, answered.get(symbol) ?? []);
    // While a session runs, a symbol may have no bar yet.
    if (delistedAt.has(symbol) || open.start >= run.context.finalEnds[region]) continue;
    const known = byTime.get(open.start);
    if (known === undefined) byTime.set(open.start, [symbol]);
    else known.push(symbol);
  }
  const found = new Set<string>();
  for (const [time, symbols] of byTime) {
    const calendar = calendars.get(region);
    const start = calendar && startOfSessions(calendar, time, now);
    if (start === undefined) continue;
    for (const one of await run.exclusive(() => tradingOn(run, table, region, symbols, { start, end: time })))
      found.add(one);
  }
  return found;
}

/**
 * The start of the last {@link SESSIONS} sessions before a time. Weekdays after the last known session may be a holiday, so
 * they count only where too few sessions are known.
 */
function startOfSessions(calendar: TradingCalendar, time: number, now: number): number | undefined {
  const known = calendar.knownDaysBefore(time, SESSIONS);
  const [start] = known;
  if (start !== undefined && known.length === SESSIONS && start >= time - SPAN_MS) return start;
  const days = calendar.daysIn({ start: time - SPAN_MS, end: time }, now);
  return days.length < SESSIONS ? undefined : dayAt(days, days.length - SESSIONS).start;
}

/** The symbols that have bars on {@link SESSIONS} days of a time range. */
async function tradingOn(
  { context: { session, lake } }: Run,
  table: TableSchema,
  region: Region,
  symbols: readonly string[],
  { start, end }: TimeRange,
): Promise<string[]> {
  const snapshot = await lake.snapshot(table);
  const files = [...snapshot.files.values()].filter((file) => {
    const range = fileRange(file);
    return range.start < end && range.end > start && (file.partitionValues.region ?? region) === region;
  });
  if (files.length === 0) return [];
  const rows = await session.json<{ symbol: string }>(
    `SELECT symbol FROM (${await parquetRelation(session, lake.filesOf(snapshot, files))})
     WHERE symbol IN (SELECT unnest(from_json($1, '["VARCHAR"]')))
       AND timestamp >= ${instantSql(start)} AND timestamp < ${instantSql(end)}
     GROUP BY symbol HAVING count(DISTINCT trade_date) >= ${SESSIONS}`,
    [jsonParameter(symbols)],
  );
  return rows.map(({ symbol }) => symbol);
}

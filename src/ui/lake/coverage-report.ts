import { compareText, shellWord } from "../../core/text-order.js";
import type { Clock, TimeRange } from "../../core/time.js";
import { coverageFacts } from "../../jobs/ledger/lake-coverage.js";
import type { LedgerWindows } from "../../jobs/ledger/ledger-windows.js";
import type { Lake } from "../../lake/lake.js";
import type { Reader } from "../../lake/open-reader.js";
import { knownDates } from "../../market/known-at.js";
import type { LandedPeriod } from "../../market/period.js";
import { isRegion, type Region } from "../../market/regions.js";
import { coverageByMonth, type MonthFacts, missingIn } from "../../plan/coverage.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import type { CoverageReport, MissingReport, MonthReport } from "../page-data.js";
import type { LakeState } from "../session/lake-states.js";

const MOST_LISTED = 300;
/** The periods whose requests are recorded in the ledger, with their tables. */
export const PERIODS_OF_LEDGER: readonly { readonly period: LandedPeriod; readonly dataset: string }[] = [
  { period: "1d", dataset: BARS_1D.name },
  { period: "1m", dataset: BARS_1M.name },
];

type Month = { -readonly [Key in keyof MonthReport]: MonthReport[Key] };

/** Bars and coverage of each table, region and month, in the order of time. */
export async function coverageReport(
  { reader, lake, clock }: { readonly reader: Reader; readonly lake: Lake; readonly clock: Clock },
  state: LakeState,
): Promise<CoverageReport> {
  const months = new Map<string, Month>();
  const monthOf = (dataset: string, region: Region, month: string): Month => {
    const key = `${dataset} ${region} ${month}`;
    const known = months.get(key) ?? {
      dataset,
      region,
      month,
      bars: 0,
      sessions: null,
      withBars: null,
      asked: null,
    };
    months.set(key, known);
    return known;
  };
  for (const one of await dailyMonths(reader)) Object.assign(monthOf("bars_1d", one.region, one.month), one);
  for (const { region, month, rows } of minuteMonths(reader)) monthOf("bars_1m", region, month).bars += rows;
  const sessions = new Map<string, number>();
  for (const { region, month, count } of await sessionsOf(reader)) sessions.set(`${region} ${month}`, count);
  for (const one of months.values()) one.sessions = sessions.get(`${one.region} ${one.month}`) ?? null;
  const isPast = state.asOf !== undefined || state.known !== undefined;
  let hasAsked = false;
  for (const { period, dataset } of isPast ? [] : PERIODS_OF_LEDGER)
    for (const [region, facts] of await monthFacts({ reader, lake, clock }, period))
      for (const { month, sessions: begun, ...asked } of coverageByMonth(facts)) {
        hasAsked = true;
        const one = monthOf(dataset, region, month);
        one.sessions ??= begun;
        one.asked = asked;
      }
  const { known } = state;
  const isKnown = ({ region, month }: { readonly region: Region; readonly month: string }): boolean =>
    known === undefined || month <= knownDates(known.knownAt, region).today.slice(0, month.length);
  const sorted = [...months.values()].filter(isKnown).sort((a, b) => compareText(a.month, b.month));
  return { months: sorted, note: isPast ? "past" : hasAsked ? null : "imported" };
}

/** The symbols of a region that lack days in a month. @param location of the lake, in the form of commands. */
export async function missingReport(
  parts: { readonly reader: Reader; readonly lake: Lake; readonly clock: Clock },
  { dataset, region, month }: { readonly dataset: string; readonly region: Region; readonly month: string },
  location: string,
): Promise<MissingReport> {
  const period = dataset === BARS_1M.name ? "1m" : "1d";
  const facts = (await monthFacts(parts, period)).get(region);
  const missing = facts === undefined ? [] : missingIn(facts, month);
  const pipeline = period === "1d" ? "daily" : "minute";
  return {
    symbols: missing.slice(0, MOST_LISTED),
    total: missing.length,
    command: `npx barlake run ${pipeline} --repair --lake ${shellWord(location)}`,
  };
}

/** The requests for a period's bars by region, with the windows that have no certain explanation. */
export async function monthFacts(
  { reader, lake, clock }: { readonly reader: Reader; readonly lake: Lake; readonly clock: Clock },
  period: LandedPeriod,
): Promise<Map<Region, MonthFacts>> {
  const found = await coverageFacts({ session: reader.session, lake, clock }, period);
  return new Map([...found].map(([region, facts]) => [region, { ...facts, open: openWindows(facts.asked) }]));
}

/** Requested windows without a certain explanation, by symbol. */
function openWindows({ holes }: LedgerWindows): Map<string, readonly TimeRange[]> {
  return new Map([...holes].map(([symbol, own]) => [symbol, own.map(({ window }) => window)]));
}

interface DailyMonth {
  readonly region: Region;
  readonly month: string;
  readonly bars: number;
  readonly withBars: number;
}

function dailyMonths({ session }: Reader): Promise<DailyMonth[]> {
  return session.json<DailyMonth>(
    `SELECT region, strftime(trade_date, '%Y-%m') AS month, sum(n)::DOUBLE AS bars, count(*)::INT AS "withBars"
     FROM (SELECT region, trade_date, count(*) AS n FROM raw.bars_1d GROUP BY region, trade_date)
     GROUP BY ALL`,
  );
}

function sessionsOf({ session }: Reader): Promise<{ region: Region; month: string; count: number }[]> {
  return session.json(
    `SELECT region, strftime(trade_date, '%Y-%m') AS month, count(*)::INT AS count
     FROM raw.trading_days GROUP BY ALL`,
  );
}

function minuteMonths({ snapshots }: Reader): { region: Region; month: string; rows: number }[] {
  const snapshot = snapshots.find(({ table }) => table === BARS_1M);
  return [...(snapshot?.files.values() ?? [])].flatMap(({ partitionValues, stats }) => {
    const { region, month } = partitionValues;
    if (region == null || month == null || !isRegion(region)) return [];
    return [{ region, month: month.slice(0, 7), rows: stats?.numRecords ?? 0 }];
  });
}

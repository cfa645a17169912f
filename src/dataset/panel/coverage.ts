import { lowerBound } from "../../core/lower-bound.js";
import { dateOfEpochDay, epochDay, parseTradingDate } from "../../core/time.js";
import { readKnownDays } from "../../db/market/read-ex-rules.js";
import { literal, literalList } from "../../db/quote.js";
import { type Session, TempTable } from "../../db/session/session.js";
import { basePeriod } from "../../market/period.js";
import type { Region } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import { unknownSpans } from "../../market/trading-calendar.js";
import { type DatasetSpec, isIntraday } from "../spec.js";
import type { Axes } from "./axes.js";

/**
 * Of how many members of its universe the lake has bars, on each date of a dataset: a bar, or a response that there is
 * none after an earlier one, as in a suspension; or the exchange was closed.
 */
export interface Coverage {
  /** The first date on which the members are on record; null where those of a later date are assumed for all dates. */
  readonly recordedFrom: string | null;
  readonly dates: number;
  /** How many of these are before `recordedFrom`: who had left until then is not known. */
  readonly unrecorded: number;
  /** The dates on record, in stretches of equal numbers within a year, ascending. */
  readonly ranges: readonly CoverageRange[];
  /** Members of which the lake has no bar at all, by symbol. */
  readonly noBars: readonly MemberWithoutBars[];
  /** Members of which it has bars, but not on all dates of their membership, by symbol. */
  readonly someBars: readonly MemberWithGaps[];
  /** How often a member joined, and left, on recorded dates after the first one. */
  readonly joined: number;
  readonly left: number;
  /** Whether memberships were imported, or are those of a query; else the lake has seen all of them itself. */
  readonly isTold: boolean;
}

/** Consecutive dates of a year with the same numbers. */
export interface CoverageRange {
  /** First and last date, inclusive. */
  readonly first: string;
  readonly last: string;
  readonly dates: number;
  readonly members: number;
  readonly withBars: number;
  readonly withoutBars: number;
}

/** A member without any bar in the lake. */
export interface MemberWithoutBars {
  readonly symbol: string;
  /** Number of the dataset's recorded dates on which it was a member; the first and the last one. */
  readonly dates: number;
  readonly first: string;
  readonly last: string;
  /** When it was a member: `from` inclusive, null: not known since when; `to` exclusive, null: still. */
  readonly membership: readonly { readonly from: string | null; readonly to: string | null }[];
}

/** A member without bars on some dates. */
export interface MemberWithGaps {
  readonly symbol: string;
  /** Number of the dataset's recorded dates on which it was a member, and of those without bars. */
  readonly dates: number;
  readonly without: number;
  /** First and last date without. */
  readonly first: string;
  readonly last: string;
}

/** Whether it is on record who was a member on each date, and the lake has bars of all of them. */
export function isWhole({ dates, unrecorded, ranges }: Coverage): boolean {
  return (
    dates > 0 &&
    unrecorded === 0 &&
    ranges.every(({ members, withoutBars }) => members > 0 && withoutBars === 0)
  );
}

/** The dates on which the largest share of the members has no bars; undefined where there are none. */
export function lowestCoverage(ranges: readonly CoverageRange[]): CoverageRange | undefined {
  let lowest: CoverageRange | undefined;
  for (const range of ranges)
    if (lowest === undefined || range.withBars * lowest.members < lowest.withBars * range.members)
      lowest = range;
  return lowest;
}

interface IndexRange {
  readonly start: number;
  readonly end: number;
}

/** A member, with the ranges of dates on which it is one; they neither overlap nor touch. */
interface Member {
  readonly symbol: string;
  readonly region: Region | undefined;
  readonly memberRanges: readonly IndexRange[];
}

/** The coverage of a dataset whose dates are continued, none of which the lake has changed. */
interface EarlierCoverage {
  readonly coverage: Coverage;
  readonly last: string;
}

/**
 * Counts the members with bars on each date of a dataset; undefined for universes without dates of membership: lists,
 * regions, and queries without them. @param earlier for an append: bars of earlier dates are read only of members that
 * lacked some.
 */
export async function coverageOf(
  session: Session,
  { spec, axes }: { readonly spec: DatasetSpec; readonly axes: Axes },
  earlier?: EarlierCoverage,
): Promise<Coverage | undefined> {
  if (!axes.isDated) return undefined;
  const all = await session.json<{ day: number }>(
    `SELECT DISTINCT CAST(day - DATE '1970-01-01' AS INTEGER) AS day FROM ${axes.tables.days.name} ORDER BY day`,
  );
  const days = Int32Array.from(all, ({ day }) => day).filter((day) => day >= (axes.seenFrom ?? day));
  const unrecorded = all.length - days.length;
  const isTold = await hasImports(session, spec);
  const nothing = { ranges: [], noBars: [], someBars: [], joined: 0, left: 0, isTold };
  if (days.length === 0) return { recordedFrom: null, dates: all.length, unrecorded, ...nothing };
  const dates = Array.from(days, (day): string => dateOfEpochDay(day));
  const members = await readMembers(session, axes, days);
  const missing = await missingOf(session, spec, axes, { days, members, earlier });
  const counts = new Int32Array(days.length);
  const without = new Int32Array(days.length);
  let [joined, left] = [0, 0];
  for (const { memberRanges } of members) {
    for (const { start, end } of memberRanges) {
      for (let d = start; d < end; d++) counts[d] = (counts[d] as number) + 1;
      if (start > 0) joined++;
      if (end < days.length) left++;
    }
  }
  for (const { at } of missing) for (const d of at) without[d] = (without[d] as number) + 1;
  const [known, none] = [missing.filter(({ hasBars }) => hasBars), missing.filter(({ hasBars }) => !hasBars)];
  const memberDates = new Map(
    members.map(({ symbol, memberRanges }) => [
      symbol,
      memberRanges.reduce((sum, { start, end }) => sum + end - start, 0),
    ]),
  );
  const membership = await readMembership(session, axes, none);
  return {
    recordedFrom: dates[0] as string,
    dates: all.length,
    unrecorded,
    ranges: rangesOf(dates, counts, without),
    noBars: none.map(({ symbol, at }) => ({
      symbol,
      dates: at.length,
      first: dates[at[0] as number] as string,
      last: dates[at.at(-1) as number] as string,
      membership: membership.get(symbol) ?? [],
    })),
    someBars: known.map(({ symbol, at }) => ({
      symbol,
      dates: memberDates.get(symbol) ?? 0,
      without: at.length,
      first: dates[at[0] as number] as string,
      last: dates[at.at(-1) as number] as string,
    })),
    joined,
    left,
    isTold,
  };
}

async function hasImports(session: Session, { universe }: DatasetSpec): Promise<boolean> {
  if (typeof universe !== "string") return true;
  // A lake of an earlier version has no column of sources.
  const [row] = await session.json<{ has: boolean }>(
    `SELECT count(source) > 0 AS has FROM (
       FROM raw.universe_members UNION ALL BY NAME SELECT CAST(NULL AS VARCHAR) AS source WHERE false)
     WHERE id = ${literal(universe)}`,
  );
  return row?.has ?? false;
}

async function readMembers(session: Session, { tables }: Axes, days: Int32Array): Promise<Member[]> {
  const day = (name: string, missing: number): string =>
    `coalesce(CAST(${name} - DATE '1970-01-01' AS INTEGER), ${missing})`;
  const rows = await session.json<{ symbol: string; ranges: [number, number][] }>(
    `SELECT symbol, list([${day("from_date", -1e6)}, ${day("to_date", 1e7)}] ORDER BY from_date NULLS FIRST) AS ranges
     FROM ${tables.universe.name} GROUP BY symbol ORDER BY symbol`,
  );
  return rows.flatMap(({ symbol, ranges }) => {
    const memberRanges: { start: number; end: number }[] = [];
    for (const [from, to] of ranges) {
      const [start, end] = [indexFrom(days, from), indexFrom(days, to)];
      const last = memberRanges.at(-1);
      if (start >= end) continue;
      // Spells of a query may overlap; one that was imported ends where the lake's own begins.
      if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end);
      else memberRanges.push({ start, end });
    }
    return memberRanges.length === 0 ? [] : [{ symbol, region: regionOf(symbol), memberRanges }];
  });
}

/** The index of the first date that is not before a day. */
function indexFrom(days: Int32Array, day: number): number {
  return lowerBound(0, days.length, (d) => (days[d] as number) >= day);
}

interface Missing {
  readonly symbol: string;
  readonly hasBars: boolean;
  /** Indexes of the dates on which it is a member without bars. */
  readonly at: readonly number[];
}

async function missingOf(
  session: Session,
  spec: DatasetSpec,
  axes: Axes,
  {
    days,
    members,
    earlier,
  }: {
    readonly days: Int32Array;
    readonly members: readonly Member[];
    readonly earlier: EarlierCoverage | undefined;
  },
): Promise<Missing[]> {
  const since = earlier === undefined ? 0 : indexFrom(days, epochDay(parseTradingDate(earlier.last)) + 1);
  const lacked = new Set<string>();
  if (earlier !== undefined)
    for (const { symbol } of [...earlier.coverage.noBars, ...earlier.coverage.someBars]) lacked.add(symbol);
  const bars = new Map([
    ...(await readBars(session, spec, axes, { days, since })),
    ...(lacked.size === 0 ? [] : await readBars(session, spec, axes, { days, since: 0, of: [...lacked] })),
  ]);
  const closed = await readClosed(session, axes, days, members);
  const lacking = members.flatMap(({ symbol, region, memberRanges }) => {
    const [of, shut] = [bars.get(symbol), closed.get(region)];
    const at: number[] = [];
    const from = lacked.has(symbol) ? 0 : since;
    for (const { start, end } of memberRanges)
      for (let d = Math.max(start, from); d < end; d++)
        if (of?.charCodeAt(d) !== ONE && shut?.[d] !== 1) at.push(d);
    return at.length === 0 ? [] : [{ symbol, at }];
  });
  if (lacking.length === 0) return [];
  const symbols = lacking.map(({ symbol }) => symbol);
  const facts = await readFacts(session, spec, symbols);
  return lacking.flatMap(({ symbol, at }) => {
    const { hasBars, absences } = facts.get(symbol) ?? { hasBars: false, absences: [] };
    const isAbsent = (day: number): boolean => absences.some(([first, last]) => day >= first && day <= last);
    const rest = at.filter((d) => !isAbsent(days[d] as number));
    return rest.length === 0 ? [] : [{ symbol, hasBars, at: rest }];
  });
}

/** The character of a date with a bar. */
const ONE = 49;

/** Which members (@default all) have bars on which dates of their membership, from a date on: 0 or 1 for each date. */
async function readBars(
  session: Session,
  spec: DatasetSpec,
  { tables }: Axes,
  { days, since, of }: { readonly days: Int32Array; readonly since: number; readonly of?: readonly string[] },
): Promise<Map<string, string>> {
  if (since === days.length) return new Map();
  const date = (day: number | undefined): string => `DATE ${literal(dateOfEpochDay(day as number))}`;
  const [first, last] = [date(days[0]), date(days.at(-1))];
  const table = `raw.bars_${basePeriod(spec.period)}`;
  const inWindow = [
    `trade_date BETWEEN ${date(days[since])} AND ${last}`,
    ...(of === undefined ? [] : [`symbol IN (SELECT unnest(${literalList(of)}))`]),
  ].join(" AND ");
  // A day without trades has no minutes: its daily bar says so.
  const idle = isIntraday(spec)
    ? `UNION ALL SELECT symbol, trade_date FROM raw.bars_1d WHERE ${inWindow} AND volume = 0 AND is_final`
    : "";
  const rows = await session.json<{ symbol: string; bits: string }>(
    `WITH dates AS (SELECT day, CAST(row_number() OVER (ORDER BY day) - 1 AS INTEGER) AS d
       FROM (SELECT DISTINCT day FROM ${tables.days.name} WHERE day >= ${first}))
     SELECT b.symbol, CAST(bitstring_agg(d, 0, ${days.length - 1}) AS VARCHAR) AS bits
     FROM (SELECT symbol, trade_date FROM ${table} WHERE ${inWindow} AND is_final ${idle}) AS b
     JOIN dates ON trade_date = day
     SEMI JOIN ${tables.universe.name} AS u ON b.symbol = u.symbol
       AND trade_date >= coalesce(from_date, ${first}) AND trade_date < coalesce(to_date, DATE '9999-12-31')
     GROUP BY b.symbol`,
  );
  return new Map(rows.map(({ symbol, bits }) => [symbol, bits]));
}

/** The dates on which the exchanges of a region are known to have been closed: those of a dataset may be of several regions. */
async function readClosed(
  session: Session,
  { calendar }: Axes,
  days: Int32Array,
  members: readonly Member[],
): Promise<ReadonlyMap<Region | undefined, Uint8Array>> {
  const regions = new Set(members.map(({ region }) => region));
  if (regions.size === 1 && calendar.length === 1 && regions.has(calendar[0])) return new Map();
  const closed = new Map<Region, Uint8Array>();
  for (const [region, sessions] of await readKnownDays(session)) {
    const marks = new Uint8Array(days.length).fill(1);
    for (const { after, before } of unknownSpans(sessions)) {
      const start = after === undefined ? 0 : indexFrom(days, epochDay(after) + 1);
      marks.fill(0, start, before === undefined ? days.length : indexFrom(days, epochDay(before)));
    }
    for (const date of sessions) {
      const d = indexFrom(days, epochDay(date));
      if (days[d] === epochDay(date)) marks[d] = 0;
    }
    closed.set(region, marks);
  }
  return closed;
}

interface Facts {
  readonly hasBars: boolean;
  /**
   * Stretches of days, as days since 1970-01-01, both inclusive, of which a response said that the symbol has no bar. Before
   * the first bar of a symbol they show only what the service has. Where the lake has a bar of another source in a stretch, the
   * service lacks that time.
   */
  readonly absences: readonly (readonly [first: number, last: number])[];
}

async function readFacts(
  session: Session,
  spec: DatasetSpec,
  symbols: readonly string[],
): Promise<Map<string, Facts>> {
  await using lacking = new TempTable(session, "lacking_members");
  await lacking.fill(`SELECT symbol, min(trade_date) AS first FROM raw.bars_${basePeriod(spec.period)}
    WHERE is_final AND symbol IN (SELECT unnest(${literalList(symbols)})) GROUP BY symbol`);
  const day = (name: string): string => `CAST(${name} - DATE '1970-01-01' AS INTEGER)`;
  const rows = await session.json<{ symbol: string; absences: [number, number][] | null }>(
    `SELECT symbol, absences FROM ${lacking.name} LEFT JOIN (
       SELECT a.symbol, list([${day("first_date")}, ${day("last_date")}]) AS absences
       FROM raw.absences_1d AS a
       SEMI JOIN ${lacking.name} AS l ON a.symbol = l.symbol AND a.first_date > l.first
       ANTI JOIN (FROM raw.bars_1d SEMI JOIN ${lacking.name} USING (symbol)) AS b
         ON b.symbol = a.symbol AND b.trade_date >= a.first_date AND b.trade_date <= a.last_date
       GROUP BY a.symbol) USING (symbol)`,
  );
  return new Map(rows.map(({ symbol, absences }) => [symbol, { hasBars: true, absences: absences ?? [] }]));
}

async function readMembership(
  session: Session,
  { tables }: Axes,
  members: readonly Missing[],
): Promise<Map<string, MemberWithoutBars["membership"]>> {
  if (members.length === 0) return new Map();
  const symbols = members.map(({ symbol }) => symbol);
  const rows = await session.json<{ symbol: string; membership: MemberWithoutBars["membership"] }>(
    `SELECT symbol, list({"from": CAST(coalesce(from_date, seen_from) AS VARCHAR), "to": CAST(to_date AS VARCHAR)}
       ORDER BY from_date NULLS FIRST) AS membership
     FROM ${tables.universe.name} WHERE symbol IN (SELECT unnest(${literalList(symbols)})) GROUP BY symbol`,
  );
  return new Map(rows.map(({ symbol, membership }) => [symbol, membership]));
}

function rangesOf(dates: readonly string[], counts: Int32Array, without: Int32Array): CoverageRange[] {
  const ranges: CoverageRange[] = [];
  for (let start = 0, end = 0; start < dates.length; start = end) {
    const [members, withoutBars] = [counts[start] as number, without[start] as number];
    const year = (dates[start] as string).slice(0, 4);
    while (counts[end] === members && without[end] === withoutBars && (dates[end] as string).startsWith(year))
      end++;
    ranges.push({
      first: dates[start] as string,
      last: dates[end - 1] as string,
      dates: end - start,
      members,
      withBars: members - withoutBars,
      withoutBars,
    });
  }
  return ranges;
}

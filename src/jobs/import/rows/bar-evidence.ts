import { groupBy } from "../../../core/group-by.js";
import { MINUTE_MS } from "../../../core/time.js";
import { literal } from "../../../db/quote.js";
import type { Session } from "../../../db/session/session.js";
import { REGION_NAMES, type Region } from "../../../market/regions.js";
import { closeMinute, openMinute, SESSION_HOURS } from "../../../market/sessions.js";
import { UNKNOWN_DAYS } from "../../../market/trading-calendar.js";
import {
  type FileEvidence,
  type MinuteEvidence,
  TRADING_HOURS,
  UNIT_QUOTIENTS,
  type UnitEvidence,
} from "../plan/judge-bars.js";

export interface EvidenceSource {
  readonly session: Session;
  readonly isMinute: boolean;
  readonly hasClocks: boolean;
  readonly numbers: ReadonlySet<string>;
  readonly raw: string;
  readonly rows: string;
}

/** Symbols of a file whose bars are looked at one by one, if they look like those of weeks or months. */
const SPARSE_SYMBOLS = 50;
/** Different times of day of a file, and the first one, in minutes. */
interface Clocks {
  readonly clocks: number;
  readonly first: number | null;
}
/** Pairs of neighbouring bars from which a longer period is concluded. */
const MANY_PAIRS = 10;
const HALF_HOUR = 30;
/** A share of rows from which the usual units are concluded. */
const AGREEING = 0.9;

export async function fileEvidence(source: EvidenceSource): Promise<Map<number, FileEvidence>> {
  const { session, isMinute, hasClocks, rows: from } = source;
  const clock = isMinute ? "minute_of_day" : "clock";
  const rows = await session.json<Record<string, number | null> & { sparse: { items: string[] } | null }>(
    `WITH symbols AS (
       SELECT file, symbol, count(*) AS n, count(*) FILTER (is_date) AS dates, count(given_at) AS instants,
         count(own_day) AS midnights, any_value(region) AS region, count(*) FILTER (dayofweek(day) IN (0, 6)) AS weekends,
         count(*) FILTER (dayofweek(own_day) IN (0, 6)) AS own_weekends, max(day) - min(day) AS span, ${isMinute ? "count(DISTINCT day)" : "count(*)"} AS days
       FROM ${from} WHERE symbol IS NOT NULL AND day IS NOT NULL GROUP BY file, symbol)
     SELECT file, sum(n)::DOUBLE AS rows, count(*)::DOUBLE AS symbols, sum(days)::DOUBLE AS days,
       sum(n - 1) FILTER (n > 1)::DOUBLE AS pairs, sum(n - 1) FILTER (n > 1 AND span >= ${UNKNOWN_DAYS} * (n - 1))::DOUBLE AS long_pairs,
       max(span / (n - 1)) FILTER (n > 1)::DOUBLE AS long_days, min(symbol) FILTER (n > 1) AS long_symbol, sum(dates)::DOUBLE AS dates, sum(instants)::DOUBLE AS instants, sum(midnights)::DOUBLE AS midnights,
       count(*) FILTER (region = 'US' AND midnights > 0 AND instants - midnights > 1)::DOUBLE AS doubtful,
       sum(weekends)::DOUBLE AS weekends, sum(own_weekends)::DOUBLE AS own_weekends,
       list(symbol ORDER BY symbol) FILTER (n >= 4 AND span / (n - 1) >= 4.5)[1:${SPARSE_SYMBOLS}] AS sparse
     FROM symbols GROUP BY file ORDER BY file`,
  );
  const clocks = hasClocks ? await clocksOf(source, clock) : new Map<number, Clocks>();
  for (const row of rows) {
    const own = clocks.get(row.file as number);
    row.clocks = own?.clocks ?? 0;
    row.first_clock = own?.first ?? null;
  }
  const sameDay = await sameDays(
    source,
    clock,
    rows.filter((row) => (row.clocks ?? 0) > 1 || isMinute).map((row) => row.file as number),
  );
  const long = isMinute ? new Map() : await longPeriods(source, rows);
  const minutes = isMinute ? await minuteEvidence(source) : new Map();
  return new Map(
    rows.map((row) => {
      const place = row.file as number;
      const same = sameDay.get(place);
      return [
        place,
        {
          rows: row.rows ?? 0,
          symbols: row.symbols ?? 0,
          days: row.days ?? 0,
          dates: row.dates ?? 0,
          instants: row.instants ?? 0,
          midnights: row.midnights ?? 0,
          doubtful: row.doubtful ?? 0,
          weekends: row.weekends ?? 0,
          ownWeekends: row.own_weekends ?? 0,
          clocks: row.clocks ?? 0,
          firstClocks: same?.clocks ?? [row.first_clock ?? 0],
          sameDay: same?.rows ?? 0,
          longPeriod: long.get(place) ?? fewLong(row),
          minutes: minutes.get(place) ?? [],
        },
      ];
    }),
  );
}

/** Few bars of many symbols, all of which are further apart than sessions ever were. */
function fewLong(row: Readonly<Record<string, unknown>>): FileEvidence["longPeriod"] {
  const {
    pairs,
    long_pairs: long,
    long_days: days,
    long_symbol: symbol,
  } = row as Record<string, number | null> & {
    readonly long_symbol: string | null;
  };
  if (pairs === null || pairs === undefined || pairs < MANY_PAIRS || long !== pairs || symbol === null)
    return undefined;
  return { symbol, days: days ?? 0 };
}

/** Rows with the same symbol and date as another one, and the first times of day. */
async function sameDays(
  { session, rows: from }: EvidenceSource,
  clock: string,
  places: readonly number[],
): Promise<Map<number, { rows: number; clocks: readonly number[] }>> {
  if (places.length === 0) return new Map();
  const found = await session.json<{ file: number; rows: number; clocks: { items: number[] } }>(
    `WITH r AS (SELECT file, symbol, day, ${clock} AS clock FROM ${from}
       WHERE symbol IS NOT NULL AND day IS NOT NULL AND file IN (${places.join(", ")})),
     days AS (SELECT file, symbol, day, count(*) AS n FROM r GROUP BY ALL)
     SELECT file, coalesce(sum(n) FILTER (n > 1), 0)::DOUBLE AS rows,
       (SELECT list(c ORDER BY c)[1:2] FROM (SELECT DISTINCT clock::DOUBLE AS c FROM r WHERE r.file = days.file AND clock IS NOT NULL)) AS clocks
     FROM days GROUP BY file`,
  );
  return new Map(found.map(({ file, rows, clocks }) => [file, { rows, clocks: listOf(clocks) }]));
}

async function clocksOf(
  { session, rows: from }: EvidenceSource,
  clock: string,
): Promise<Map<number, Clocks>> {
  const rows = await session.json<Clocks & { file: number }>(
    `SELECT file, count(DISTINCT ${clock})::DOUBLE AS clocks, min(${clock})::DOUBLE AS first
     FROM ${from} WHERE symbol IS NOT NULL AND day IS NOT NULL GROUP BY file`,
  );
  return new Map(rows.map((row) => [row.file, row]));
}

/** Symbols whose bars are several days apart, from the first to the last one. */
async function longPeriods(
  { session, rows }: EvidenceSource,
  files: readonly {
    readonly file?: number | null;
    readonly sparse: { items: string[] } | string[] | null;
  }[],
): Promise<Map<number, { symbol: string; days: number }>> {
  const from = `${rows} WHERE symbol IS NOT NULL AND day IS NOT NULL`;
  const sparse = files.flatMap(({ file, sparse: own }) => listOf(own).map((symbol) => ({ file, symbol })));
  if (sparse.length === 0) return new Map();
  const list = sparse.map(({ file, symbol }) => `(${file}, ${literal(symbol)})`).join(", ");
  const found = await session.json<{ file: number; symbol: string; days: number }>(
    `SELECT file, symbol, median(gap)::DOUBLE AS days FROM (
       SELECT file, symbol, day - lag(day) OVER (PARTITION BY file, symbol ORDER BY day) AS gap
       FROM (SELECT DISTINCT file, symbol, day FROM ${from} AND (file, symbol) IN (${list})))
     WHERE gap IS NOT NULL GROUP BY file, symbol HAVING quantile_disc(gap, 0.1) >= 5 ORDER BY file, symbol DESC`,
  );
  return new Map(found.map(({ file, symbol, days }) => [file, { symbol, days }]));
}

async function minuteEvidence({
  session,
  rows: from,
}: EvidenceSource): Promise<Map<number, MinuteEvidence[]>> {
  const perRegion = (value: (region: Region) => string): string =>
    `CASE region ${REGION_NAMES.map((region) => `WHEN ${literal(region)} THEN ${value(region)}`).join(" ")} END`;
  const atMinute = (minute: (region: Region) => number): string =>
    `count(*) FILTER (minute_of_day = ${perRegion((region) => String(minute(region)))})::DOUBLE`;
  const noonEnd = (region: Region): number => SESSION_HOURS[region].parts[0]?.[1] ?? 0;
  const afternoon = (region: Region): number => (SESSION_HOURS[region].parts[1] ?? [-1])[0];
  const isRegular = (minute: string): string =>
    `${minute} BETWEEN ${perRegion((region) => String(openMinute(region)))} AND ${perRegion((region) => String(closeMinute(region)))}`;
  const within = (range: (region: Region) => readonly [number, number]): string =>
    `minute_of_day BETWEEN ${perRegion((region) => String(range(region)[0]))} AND ${perRegion((region) => String(range(region)[1]))}`;
  const asUtc = "((minute_of_day + ahead // 60000) % 1440 + 1440) % 1440";
  const steps = [60, 30, 15, 10, 5, 3, 2].map(
    (step) => `WHEN max(minute_of_day % ${step}) = min(minute_of_day % ${step}) THEN ${step}`,
  );
  const rows = await session.json<MinuteEvidence & { file: number }>(
    `SELECT file, region, count(*)::DOUBLE AS rows, count(*) FILTER (local_ms % ${MINUTE_MS} <> 0)::DOUBLE AS seconds,
       ${atMinute(openMinute)} AS "atOpen", ${atMinute((region) => openMinute(region) + 1)} AS "atSecond",
       ${atMinute((region) => closeMinute(region) - 1)} AS "atLast", ${atMinute(closeMinute)} AS "atClose",
       ${atMinute(noonEnd)} AS "atNoonEnd", ${atMinute(afternoon)} AS "atAfternoon",
       count(*) FILTER (minute_of_day < ${perRegion((region) => String(openMinute(region)))})::DOUBLE AS early,
       count(*) FILTER (NOT ${within((region) => TRADING_HOURS[region])})::DOUBLE AS outside,
       count(*) FILTER (${within((region) => [openMinute(region), openMinute(region) + HALF_HOUR])})::DOUBLE AS opening,
       count(*) FILTER (${within((region) => [closeMinute(region) - HALF_HOUR, closeMinute(region)])})::DOUBLE AS closing,
       coalesce(max(minute_of_day) FILTER (${isRegular("minute_of_day")}) - min(minute_of_day) FILTER (${isRegular("minute_of_day")}) + 1, 0)::DOUBLE AS span,
       ${atMinute(() => 240)} AS "atFour", ${atMinute(() => 1200)} AS "atTwenty",
       count(*) FILTER (${isRegular("minute_of_day")})::DOUBLE AS regular, count(*) FILTER (${isRegular(asUtc)})::DOUBLE AS "regularAsUtc",
       count(DISTINCT minute_of_day)::DOUBLE AS clocks, (CASE ${steps.join(" ")} ELSE 1 END)::DOUBLE AS step
     FROM ${from} WHERE symbol IS NOT NULL AND day IS NOT NULL GROUP BY file, region ORDER BY file, region`,
  );
  return groupBy(rows, ({ file }) => file);
}

/** How many rows of each file agree with each quotient of units. */
export async function unitEvidence(
  source: EvidenceSource,
  places: readonly number[],
): Promise<Map<number, UnitEvidence>> {
  // In most files the units are single ones: then the other quotients need not be tried.
  const usual = await unitsOf(source, places, [1]);
  const others = [...usual]
    .filter(([, { rows, agreeing }]) => (agreeing.get(1) ?? 0) < rows * AGREEING)
    .map(([place]) => place);
  return new Map([...usual, ...(await unitsOf(source, others, UNIT_QUOTIENTS))]);
}

async function unitsOf(
  { session, numbers, raw }: EvidenceSource,
  places: readonly number[],
  quotients: readonly number[],
): Promise<Map<number, UnitEvidence>> {
  if (places.length === 0 || !numbers.has("amount")) return new Map();
  const volume = numbers.has("lot") ? "n_volume * coalesce(n_lot, 1)" : "n_volume";
  const tests = quotients.map(
    (quotient, i) =>
      `count(*) FILTER (n_amount BETWEEN n_low * ${volume} * ${quotient * 0.995} AND n_high * ${volume} * ${quotient * 1.005})::DOUBLE AS q${i}`,
  );
  const rows = await session.json<Record<string, number>>(
    `SELECT file, count(*)::DOUBLE AS rows, ${tests.join(", ")} FROM ${raw}
     WHERE n_volume > 0 AND n_amount > 0 AND n_low > 0 AND n_high >= n_low AND file IN (${places.join(", ")}) GROUP BY file`,
  );
  return new Map(
    rows.map((row) => [
      row.file as number,
      {
        rows: row.rows as number,
        agreeing: new Map(quotients.map((q, i) => [q, row[`q${i}`] as number])),
      },
    ]),
  );
}

function listOf<T>(value: { readonly items: readonly T[] } | readonly T[] | null): readonly T[] {
  if (value === null) return [];
  return "items" in value ? value.items : value;
}

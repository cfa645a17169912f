import type { LentMemory } from "../../core/memory-pool.js";
import { DAY_MS, MINUTE_MS, type TimeRange } from "../../core/time.js";
import { selectFiles } from "../../lake/files/prune.js";
import type { DataFile, Snapshot } from "../../lake/log/snapshot.js";
import {
  type Adjustment,
  BUCKETS,
  type Bucket,
  basePeriod,
  longestDays,
  type Period,
} from "../../market/period.js";
import { REGION_NAMES, REGIONS, type Region } from "../../market/regions.js";
import { SESSION_HOURS } from "../../market/sessions.js";
import { regionOf } from "../../market/symbol.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";

/**
 * Requested symbols with the same ranges, in the form in which they are bound to a query as JSON. A list of texts takes
 * DuckDB a fifth of the time of a list of objects.
 */
interface RequestedSymbols {
  readonly symbols: string[];
  /** The index of each symbol in the requested list: the query returns it instead of the symbol. */
  readonly positions: number[];
  /** Shares in one unit of the volume in the response. */
  readonly unit: number;
  /** Range of the timestamps of landed bars, in epoch milliseconds, end exclusive. */
  readonly start: number;
  readonly end: number;
  /** Range of the labels of the bars in the response, in epoch milliseconds, end exclusive. */
  readonly label_start: number;
  readonly label_end: number;
}

/** Instants that DuckDB, the calendar and JSON can all represent: the years 1 to 9999. */
export const ALL_TIME: TimeRange = { start: -62_135_596_800_000, end: 253_402_300_800_000 };

const STRUCTURE =
  '[{"symbols":["VARCHAR"],"positions":["INTEGER"],"unit":"INTEGER","start":"BIGINT","end":"BIGINT","label_start":"BIGINT","label_end":"BIGINT"}]';

/** The CTE `requested`: a row for each symbol of a bound JSON text of {@link RequestedSymbols}. */
export function requestedSql(parameter: string): string {
  return `requested AS (
    SELECT unnest(w.symbols) AS symbol, unnest(w.positions) AS position, w.unit, w.label_start, w.label_end,
      make_timestamptz(w."start" * 1000) AS range_start, make_timestamptz(w."end" * 1000) AS range_end
    FROM (SELECT unnest(from_json(${parameter}, '${STRUCTURE}')) AS w))`;
}

interface Demands {
  readonly files: DataFile[];
  /** Symbols with a known exchange. Other symbols are in no table. */
  readonly requested: RequestedSymbols[];
}

const ALWAYS = (): TimeRange => ALL_TIME;

/** Shares in one unit of volume of a region. */
export const lotOf = (region: Region): number => REGIONS[region].lot;

/** Whether the volumes of all regions are in shares. */
export function isInShares(unitOf: (region: Region) => number): boolean {
  return REGION_NAMES.every((region) => unitOf(region) === 1);
}

interface RequestedParts {
  /** The range of a symbol's landed bars. @default all of time */
  readonly rangeOf?: (symbol: string) => TimeRange;
  /** The range of the labels of the response's bars. @default all of time */
  readonly labelsOf?: (region: Region) => TimeRange;
  /** Shares in one unit of the volume in the response. @default the region's unit */
  readonly unitOf?: (region: Region) => number;
}

export function demandsOf(
  snapshot: Snapshot,
  symbols: readonly string[],
  { rangeOf = ALWAYS, labelsOf = ALWAYS, unitOf = lotOf }: RequestedParts = {},
): Demands {
  const groups = new Map<string, Group>();
  let group: Group | undefined;
  for (const [position, symbol] of symbols.entries()) {
    const region = regionOf(symbol);
    if (region === undefined) continue;
    const range = rangeOf(symbol);
    // Most symbols have the range of the one before them.
    if (group?.region !== region || group.range.start !== range.start || group.range.end !== range.end) {
      const key = `${region} ${range.start} ${range.end}`;
      group = groups.get(key);
      if (group === undefined) {
        const { start: label_start, end: label_end } = labelsOf(region);
        const shared = { unit: unitOf(region), ...range, label_start, label_end };
        group = { region, range, requested: { symbols: [], positions: [], ...shared } };
        groups.set(key, group);
      }
    }
    group.requested.symbols.push(symbol);
    group.requested.positions.push(position);
  }
  const all = [...groups.values()];
  const demands = all.map(({ region, range, requested }) => ({
    region,
    range,
    symbols: [...requested.symbols].sort(),
  }));
  return {
    files: selectFiles(snapshot.files.values(), demands),
    requested: all.map(({ requested }) => requested),
  };
}

interface Group {
  readonly region: Region;
  readonly range: TimeRange;
  readonly requested: RequestedSymbols;
}

export interface Series {
  readonly table: TableSchema;
  readonly bucket: Bucket;
  /** The longest time that one bar can cover, in days; 0 where a bar is one landed bar. */
  readonly bucketDays: number;
}

export function seriesOf(period: Period): Series {
  const bucket = BUCKETS[period];
  return { table: basePeriod(period) === "1m" ? BARS_1M : BARS_1D, bucket, bucketDays: longestDays(bucket) };
}

/** The minute bars of each trading date, aggregated into one bar. It is requested in ranges of whole local days. */
export const MINUTES_OF_A_DAY: Series = {
  table: BARS_1M,
  bucket: { kind: "calendar", unit: "day" },
  bucketDays: 1,
};

/**
 * An estimate of how far back `count` bars reach, in milliseconds. It is not an upper bound: a symbol that was
 * suspended or rarely trades has fewer bars.
 */
function reachMs(series: Series, region: Region, count: number): number {
  if (series.table === BARS_1D) {
    const bars = series.bucket.kind === "landed" ? (count * 7) / 5 : count * series.bucketDays;
    return Math.ceil(bars * 1.04 + 7) * DAY_MS;
  }
  const minutes = series.bucket.kind === "minutes" ? series.bucket.minutes : 1;
  const barsPerDay = Math.floor(SESSION_HOURS[region].barsPerDay / minutes);
  const days = Math.ceil(count / barsPerDay);
  if (days > 1) return Math.ceil((days * 7) / 5 + 3) * DAY_MS;
  return Math.min(DAY_MS, (count * minutes * 2 + 10) * MINUTE_MS);
}

export interface KlinesRequest {
  /** The symbols, without repeats. The response is in their order. */
  readonly symbols: readonly string[];
  readonly series: Series;
  readonly adjustment: Adjustment;
  /** Most bars of each symbol; the newest ones are returned. */
  readonly count: number;
  /** The range of a region's bars, in epoch milliseconds, within the years 1 to 9999. */
  readonly rangeOf: (region: Region) => TimeRange;
  /** Whether a symbol is known without reading the table; a known symbol has an entry even without bars. */
  readonly isKnown: (symbol: string) => boolean;
  /** Shares in one unit of volume. @default the region's unit */
  readonly unitOf?: (region: Region) => number;
  /** Memory that bars may be read into. @default new memory, for bars that are used longer than a response */
  readonly memory?: LentMemory | undefined;
}

/** Factor by which the range grows from one step to the next. */
const GROWTH = 8;
/** Most ranges of a look back, including the last range, which covers everything. */
const STEPS = 3;

const STEP_WITHIN_DAY_MS = 5 * MINUTE_MS;

interface LookBack {
  readonly series: Series;
  readonly region: Region;
  readonly count: number;
  readonly labels: TimeRange;
  readonly available: TimeRange;
  /**
   * An estimate of the time of the symbol's newest bar (epoch milliseconds). A wrong estimate makes reading slower, but
   * no bar is missed.
   */
  readonly newest?: number | undefined;
}

/**
 * The ranges of landed bars to read, in order, until the newest `count` bars are found; each includes the range before,
 * and the last one covers everything.
 */
export function lookBackRanges({ series, region, count, labels, available, newest }: LookBack): TimeRange[] {
  if (series === MINUTES_OF_A_DAY) return wholeDays(labels, available);
  const slack = series.bucketDays * DAY_MS;
  const start = Math.max(labels.start - slack, available.start);
  const end = Math.min(labels.end + slack, available.end);
  if (start >= end) return [];
  const ranges: TimeRange[] = [];
  const from = Math.min(labels.end, end, newest ?? end) - slack;
  for (let n = 0; n < STEPS - 1; n++) {
    const reach = reachMs(series, region, count) * GROWTH ** n;
    // Ranges are rounded to whole steps, so that symbols whose bars end within one step share a range and a choice of
    // files.
    const step = reach < DAY_MS ? STEP_WITHIN_DAY_MS : DAY_MS;
    const reached = Math.floor((from - reach) / step) * step;
    if (reached <= start) break;
    ranges.push({ start: reached, end });
  }
  return [...ranges, { start, end }];
}

/** Days of minutes are requested as whole days, so that their bars are whole, too. */
function wholeDays(labels: TimeRange, available: TimeRange): TimeRange[] {
  const start = Math.max(labels.start, available.start);
  const end = Math.min(labels.end, available.end);
  return start < end ? [{ start, end }] : [];
}

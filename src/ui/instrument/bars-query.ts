import type { RecordBatch } from "apache-arrow";
import { DAY_MS, dateOfEpochDay, epochDay, parseTradingDate, type TradingDate } from "../../core/time.js";
import { namesSql, ofNamesSql, readNames, type StoredSymbols } from "../../db/market/read-ex-rules.js";
import { literal } from "../../db/quote.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import type { Reader } from "../../lake/open-reader.js";
import { type Adjustment, basePeriod, type Period } from "../../market/period.js";
import { REGIONS } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";

export interface BarsRequest {
  readonly symbol: string;
  readonly period: Period;
  readonly adjustment: Adjustment;
  /** The date after the last requested date. Without it, the newest bars are read. */
  readonly to?: TradingDate | undefined;
}

/** Bars in the order of time, and whether there are earlier ones. */
interface ReadBars {
  readonly batches: readonly RecordBatch[];
  /** First date of the range that was read; undefined where everything was read. */
  readonly from: TradingDate | undefined;
  /** Whether the table has earlier days, which may have bars of the symbol. */
  readonly hasEarlier: boolean;
}

/** Number of days in one window: about as many bars as two wide screens show. Undefined: everything is read. */
const WINDOW_DAYS: Readonly<Record<Period, number | undefined>> = {
  "1m": 8,
  "5m": 40,
  "10m": 80,
  "15m": 120,
  "30m": 240,
  "60m": 480,
  "1d": 3700,
  // These periods are aggregated over the whole history before dates can be compared, so a window would save nothing.
  "1w": undefined,
  "1M": undefined,
  "1Q": undefined,
  "1Y": undefined,
};

/**
 * The factor by which the next window is longer if a window has no bar, for example during a suspension or after a
 * delisting.
 */
const WIDENING = 5;

interface BarsSource {
  readonly snapshots: readonly Snapshot[];
  /** The bars of the request from a date, in the order of time. @param from the first date. @default everything */
  readonly read: (from: TradingDate | undefined) => Promise<readonly RecordBatch[]>;
}

/** Reads a window of bars: the newest, or those before a date. */
export async function readBars({ snapshots, read }: BarsSource, request: BarsRequest): Promise<ReadBars> {
  const { symbol, period } = request;
  const table = basePeriod(period) === "1d" ? BARS_1D : BARS_1M;
  const bounds = daysOf(
    snapshots.find((one) => one.table === table),
    regionOf(symbol),
  );
  let days = WINDOW_DAYS[period];
  if (days === undefined || bounds === undefined)
    return { batches: await read(undefined), from: undefined, hasEarlier: false };
  const end = Math.min(request.to === undefined ? bounds.end : epochDay(request.to), bounds.end);
  for (;;) {
    const first = Math.max(bounds.first, end - days);
    const from = dateOfEpochDay(first);
    const batches = await read(from);
    const hasEarlier = first > bounds.first;
    if (!hasEarlier || batches.some(({ numRows }) => numRows > 0)) return { batches, from, hasEarlier };
    days *= WIDENING;
  }
}

export async function queryBars(
  { session }: Pick<Reader, "session">,
  request: BarsRequest,
  from: TradingDate | undefined,
): Promise<RecordBatch[]> {
  const batches: RecordBatch[] = [];
  const { symbol } = request;
  const sql = barsSql(request, from, await readNames(session));
  for await (const batch of await session.batches(sql, [symbol])) batches.push(batch);
  return batches;
}

/**
 * The query of bars. Times are seconds of the exchange's local time, for the axis of a chart; for days and longer
 * periods, of midnight of the date.
 */
function barsSql(
  { symbol, period, adjustment, to }: BarsRequest,
  from: TradingDate | undefined,
  names: StoredSymbols,
): string {
  const region = regionOf(symbol);
  const zone = region === undefined ? "UTC" : REGIONS[region].zone;
  const time =
    basePeriod(period) === "1d" ? "epoch(trade_date)" : `epoch(timezone(${literal(zone)}, "timestamp"))`;
  const window = [
    ...(from === undefined ? [] : [`trade_date >= DATE ${literal(from)}`]),
    ...(to === undefined ? [] : [`trade_date < DATE ${literal(to)}`]),
  ];
  // Some feeds set open, high and low to 0 in a bar without trades. Drawn unchanged, it would compress all other
  // prices.
  const drawn = (price: string): string =>
    `CASE WHEN shares = 0 AND open = high AND high = low THEN close ELSE ${price} END AS ${price}`;
  const prices = ["open", "high", "low"].map(drawn).join(", ");
  const isNamed = names.has(symbol);
  const source = isNamed
    ? `histories(${namesSql([symbol])}, ${literal(period)}, ${literal(adjustment)}, events := 'of_names')`
    : `adjusted(${literal(period)}, ${literal(adjustment)})`;
  return `${isNamed ? ofNamesSql("ex_events", [symbol], names) : ""} SELECT CAST(${time} AS DOUBLE) AS time, ${prices}, close, CAST(shares AS DOUBLE) AS shares, amount, prev_close, is_final
    FROM ${source}
    WHERE ${["symbol = $1", ...window].join(" AND ")}
    ORDER BY "timestamp"`;
}

/** The range of days of a region's partitions in a table, in days since 1970-01-01; `end` is exclusive. */
function daysOf(
  snapshot: Snapshot | undefined,
  region: string | undefined,
): { readonly first: number; readonly end: number } | undefined {
  let [first, end] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { partitionValues } of snapshot?.files.values() ?? []) {
    if (partitionValues.region !== region) continue;
    const { month, year } = partitionValues;
    const begin = month ?? (year == null ? undefined : `${year}-01-01`);
    if (begin == null) continue;
    const day = epochDay(parseTradingDate(begin.slice(0, 10)));
    first = Math.min(first, day);
    end = Math.max(end, endOf(day, month == null));
  }
  return first < end ? { first, end } : undefined;
}

function endOf(day: number, isYear: boolean): number {
  const date = new Date(day * DAY_MS);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return (isYear ? Date.UTC(year + 1, 0, 1) : Date.UTC(year, month + 1, 1)) / DAY_MS;
}

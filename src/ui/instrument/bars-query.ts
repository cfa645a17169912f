import type { RecordBatch } from "apache-arrow";
import { DAY_MS, dateOfEpochDay, epochDay, parseTradingDate, type TradingDate } from "../../core/time.js";
import { literal } from "../../db/quote.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import type { Reader } from "../../lake/open-reader.js";
import { type Adjustment, basePeriod, type Period } from "../../market/period.js";
import { REGIONS } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";

/** Which bars are read. */
export interface BarsRequest {
  readonly symbol: string;
  readonly period: Period;
  readonly adjustment: Adjustment;
  /** Date after the last one; the newest bars where it is missing. */
  readonly to?: TradingDate | undefined;
}

/** Bars in the order of time, and what lies before them. */
export interface ReadBars {
  readonly batches: readonly RecordBatch[];
  /** First date of the window that was read; undefined where everything was. */
  readonly from: TradingDate | undefined;
  /** Whether the table has earlier days, which may have bars of the symbol. */
  readonly hasEarlier: boolean;
}

/** Days of one window: about as many bars as two wide screens show. Undefined: everything. */
const WINDOW_DAYS: Readonly<Record<Period, number | undefined>> = {
  "1m": 8,
  "5m": 40,
  "10m": 80,
  "15m": 120,
  "30m": 240,
  "60m": 480,
  "1d": 3700,
  // They are aggregated over the whole history before a date can be compared, so a window would save nothing.
  "1w": undefined,
  "1M": undefined,
  "1Q": undefined,
  "1Y": undefined,
};

/** How much longer the next window is where one has no bar: of a suspension, or after a delisting. */
const WIDENING = 5;

/** Where bars are read. */
export interface BarsSource {
  readonly snapshots: readonly Snapshot[];
  /** The bars of the request from a date on, in the order of time. @param from @default everything */
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

/** The bars of a request from a date on, by the views. */
export async function queryBars(
  { session }: Pick<Reader, "session">,
  request: BarsRequest,
  from: TradingDate | undefined,
): Promise<RecordBatch[]> {
  const batches: RecordBatch[] = [];
  const { symbol } = request;
  for await (const batch of await session.batches(barsSql(request, from), [symbol])) batches.push(batch);
  return batches;
}

/** Times are seconds of the exchange's own clock, as a chart's axis takes them; of days and longer, of the date. */
function barsSql({ symbol, period, adjustment, to }: BarsRequest, from: TradingDate | undefined): string {
  const region = regionOf(symbol);
  const zone = region === undefined ? "UTC" : REGIONS[region].zone;
  const time =
    basePeriod(period) === "1d" ? "epoch(trade_date)" : `epoch(timezone(${literal(zone)}, "timestamp"))`;
  const window = [
    ...(from === undefined ? [] : [`trade_date >= DATE ${literal(from)}`]),
    ...(to === undefined ? [] : [`trade_date < DATE ${literal(to)}`]),
  ];
  // Some feeds have 0 as open, high and low of a bar without trades: drawn as it is, it would hide all other prices.
  const drawn = (price: string): string =>
    `CASE WHEN shares = 0 AND open = high AND high = low THEN close ELSE ${price} END AS ${price}`;
  const prices = ["open", "high", "low"].map(drawn).join(", ");
  return `SELECT CAST(${time} AS DOUBLE) AS time, ${prices}, close, CAST(shares AS DOUBLE) AS shares, amount, prev_close, is_final
    FROM adjusted(${literal(period)}, ${literal(adjustment)})
    WHERE ${["symbol = $1", ...window].join(" AND ")}
    ORDER BY "timestamp"`;
}

/** The days that a region's partitions of a table span, in days since 1970-01-01; `end` is exclusive. */
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

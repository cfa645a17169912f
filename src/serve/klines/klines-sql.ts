import { MINUTE_MS } from "../../core/time.js";
import {
  adjustedPriceSql,
  BAR_AGGREGATES,
  exactSharesSql,
  statedPriceSql,
  unitsSql,
  volumeSql,
} from "../../db/market/bar-sql.js";
import { calendarBucketSql, sessionBarEndSql } from "../../db/market/bucket-sql.js";
import { localMidnightSql } from "../../db/market/region-sql.js";
import { ident, literalList } from "../../db/quote.js";
import type { Adjustment, Bucket } from "../../market/period.js";
import { REGION_NAMES } from "../../market/regions.js";
import { requestedSql } from "./requested-bars.js";

/** The columns of the query of {@link klinesSql}, in order, and the types as which they are read. */
export const KLINE_SHAPE = {
  position: "int32",
  timestamp: "int64",
  open: "double",
  high: "double",
  low: "double",
  close: "double",
  volume: "int64",
  amount: "double",
  open_interest: "double",
  prev_close: "double",
  settlement_price: "double",
} as const;

/** The parts of a query for bars. Its parameters: `$requested` and, where adjusted, `$steps`, both JSON. */
interface KlinesSqlParts {
  readonly relation: string;
  readonly bucket: Bucket;
  /** `none` also where no requested symbol has an adjustment step. */
  readonly adjustment: Adjustment;
}

const PRICES = ["open", "high", "low", "close", "prev_close", "settlement_price"] as const;
/** The columns that some feeds set to 0 in a bar without trades. */
const STATED: ReadonlySet<string> = new Set(["open", "high", "low"]);

/**
 * The CTE `days`: for each region and date of a requested bar, `day_start`: the instant of local midnight (epoch
 * milliseconds). It is computed once for each day, and not for each bar.
 */
const DAYS_SQL = `days AS (
    SELECT region AS day_region, CAST(day AS DATE) AS day, ${localMidnightSql("day", "region")} AS day_start
    FROM (
      SELECT unnest(generate_series(
        date_trunc('day', min(range_start) AT TIME ZONE 'UTC') - INTERVAL 1 DAY,
        max(range_end) AT TIME ZONE 'UTC' + INTERVAL 1 DAY, INTERVAL 1 DAY)) AS day
      FROM requested)
    CROSS JOIN (SELECT unnest(${literalList(REGION_NAMES)}) AS region))`;

const STEPS = '[{"position":"INTEGER","start":"INTEGER","end":"INTEGER","value":"DOUBLE"}]';

/**
 * The query for requested bars: adjusted first, then aggregated. Landed bars are returned in the order of the files,
 * which are sorted: merging the bars of several files is less work than a sort.
 */
export function klinesSql({ relation, bucket, adjustment }: KlinesSqlParts): string {
  const ctes = [requestedSql("$requested")];
  if (adjustment !== "none") {
    ctes.push(`steps AS (
      SELECT s.position AS step_position, s."start" AS step_start, s."end" AS step_end, s."value" AS step
      FROM (SELECT unnest(from_json($steps, '${STEPS}')) AS s))`);
  }
  ctes.push(`bars AS (${barsSql(relation, adjustment, bucket)})`);
  if (bucket.kind === "minutes") ctes.push(DAYS_SQL);
  return `WITH ${ctes.join(", ")} ${bucket.kind === "landed" ? LANDED : `${aggregatedSql(bucket)} ORDER BY position, "timestamp"`}`;
}

function barsSql(relation: string, adjustment: Adjustment, bucket: Bucket): string {
  const prices = PRICES.map((name) => {
    const isStated = bucket.kind !== "landed" && STATED.has(name);
    const price = isStated ? statedPriceSql(ident(name), "close") : ident(name);
    return `${adjustedPriceSql(isStated ? `(${price})` : price, adjustment, "step")} AS ${name}`;
  });
  const steps =
    adjustment === "none"
      ? ""
      : `LEFT JOIN steps ON step_position = position
          AND trade_date - DATE '1970-01-01' >= step_start AND trade_date - DATE '1970-01-01' < step_end`;
  return `SELECT position, unit, "timestamp", trade_date, region, label_start, label_end, ${prices.join(", ")},
      volume, lot, amount, open_interest
    FROM (${relation}) JOIN requested USING (symbol) ${steps}
    WHERE "timestamp" >= range_start AND "timestamp" < range_end`;
}

const LANDED = `
  SELECT position, epoch_ms("timestamp") AS "timestamp", open, high, low, close,
    ${volumeSql("volume", "lot", "unit")} AS volume,
    amount, open_interest, prev_close, settlement_price
  FROM bars`;

function aggregatedSql(bucket: Exclude<Bucket, { kind: "landed" }>): string {
  const key =
    bucket.kind === "minutes"
      ? `${sessionBarEndSql("region", "local_ms", String(bucket.minutes * MINUTE_MS))} - local_ms + epoch_ms("timestamp")`
      : calendarBucketSql(bucket.unit, "trade_date");
  const label = bucket.kind === "minutes" ? "bucket" : 'max(epoch_ms("timestamp"))';
  const source =
    bucket.kind === "minutes"
      ? `(SELECT *, epoch_ms("timestamp") - day_start AS local_ms
          FROM bars JOIN days ON day = trade_date AND day_region = region)`
      : "bars";
  const columns = { ...BAR_AGGREGATES, volume: unitsSql(`sum(${exactSharesSql("volume", "lot")})`, "unit") };
  const select = Object.keys(KLINE_SHAPE).flatMap((name) =>
    Object.hasOwn(columns, name) ? `${columns[name as keyof typeof columns]} AS ${name}` : [],
  );
  return `
  SELECT position, ${label} AS "timestamp", ${select.join(", ")}
  FROM (SELECT *, ${key} AS bucket FROM ${source})
  GROUP BY position, unit, bucket, label_start, label_end
  HAVING ${label} >= label_start AND ${label} < label_end`;
}

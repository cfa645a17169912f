import { DAYS_SQL, labelSql } from "../../db/market/session-sql.js";
import { ident } from "../../db/quote.js";
import type { Adjustment } from "../../market/period.js";
import type { Bucket } from "./series.js";
import { wantedSql } from "./wanted-bars.js";

/** The columns of a query of {@link klinesSql}, in its order, as typed arrays. */
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

/** What a query of bars is made of. Its parameters: `$wanted` and, where adjusted, `$steps`, both JSON. */
export interface KlinesSqlParts {
  /** A SELECT over the files. */
  readonly relation: string;
  readonly bucket: Bucket;
  /** `none` also where no wanted symbol has a step. */
  readonly adjustment: Adjustment;
}

const MAX_INT64 = "9223372036854775807";
const STEPS = '[{"position":"INTEGER","start":"INTEGER","end":"INTEGER","value":"DOUBLE"}]';

/**
 * The query of wanted bars: adjusted first, aggregated after. Landed bars come as they lie in the
 * files, which are sorted: bringing those of several files together is less work than a sort.
 */
export function klinesSql({ relation, bucket, adjustment }: KlinesSqlParts): string {
  const ctes = [wantedSql("$wanted")];
  if (adjustment !== "none") {
    ctes.push(`steps AS (
      SELECT s.position AS step_position, s."start" AS step_start, s."end" AS step_end, s."value" AS step
      FROM (SELECT unnest(from_json($steps, '${STEPS}')) AS s))`);
  }
  ctes.push(`bars AS (${barsSql(relation, adjustment)})`);
  if (bucket.kind === "minutes") ctes.push(DAYS_SQL);
  return `WITH ${ctes.join(", ")} ${bucket.kind === "landed" ? LANDED : `${aggregatedSql(bucket)} ORDER BY position, "timestamp"`}`;
}

function barsSql(relation: string, adjustment: Adjustment): string {
  const prices = ["open", "high", "low", "close", "prev_close", "settlement_price"].map(
    (name) => `${priceSql(name, adjustment)} AS ${name}`,
  );
  const steps =
    adjustment === "none"
      ? ""
      : `LEFT JOIN steps ON step_position = position
          AND trade_date - DATE '1970-01-01' >= step_start AND trade_date - DATE '1970-01-01' < step_end`;
  return `SELECT position, unit, "timestamp", trade_date, region, label_start, label_end, ${prices.join(", ")},
      volume, lot, amount, open_interest
    FROM (${relation}) JOIN wanted USING (symbol) ${steps}
    WHERE "timestamp" >= range_start AND "timestamp" < range_end`;
}

/** A price of 0 is a feed's way to say "none", and stays so. */
function priceSql(name: string, adjustment: Adjustment): string {
  const price = ident(name);
  switch (adjustment) {
    case "none":
      return price;
    case "forward":
      return `CASE WHEN step IS NULL THEN ${price} ELSE ${price} / step END`;
    case "backward":
      return `CASE WHEN step IS NULL THEN ${price} ELSE ${price} * step END`;
    case "forward_additive":
    case "backward_additive":
      return `CASE WHEN step IS NULL OR ${price} = 0 THEN ${price} ELSE ${price} + step END`;
  }
}

/** Shares in the region's unit, rounded half up: exact, in 128 bits. */
function unitsSql(shares: string): string {
  return `CAST(least((${shares} * 2 + unit) // (2 * unit), ${MAX_INT64}) AS BIGINT)`;
}

const SHARES = "CAST(volume AS HUGEINT) * lot";

const LANDED = `
  SELECT position, epoch_ms("timestamp") AS "timestamp", open, high, low, close,
    CASE WHEN lot = unit THEN volume ELSE ${unitsSql(SHARES)} END AS volume,
    amount, open_interest, prev_close, settlement_price
  FROM bars`;

function aggregatedSql(bucket: Exclude<Bucket, { kind: "landed" }>): string {
  const key =
    bucket.kind === "minutes"
      ? `${labelSql("local_ms", bucket.minutes)} - local_ms + epoch_ms("timestamp")`
      : `date_trunc('${bucket.unit}', trade_date)`;
  const label = bucket.kind === "minutes" ? "bucket" : 'max(epoch_ms("timestamp"))';
  const source =
    bucket.kind === "minutes"
      ? `(SELECT *, epoch_ms("timestamp") - day_start AS local_ms
          FROM bars JOIN days ON day = trade_date AND day_region = region)`
      : "bars";
  // In a bar without trades some feeds set prices to 0: its close stands for them.
  const stated = (name: string): string => `CASE WHEN ${name} = 0 THEN close ELSE ${name} END`;
  return `
  SELECT position, ${label} AS "timestamp",
    arg_min(${stated("open")}, "timestamp") AS open, max(${stated("high")}) AS high, min(${stated("low")}) AS low,
    arg_max(close, "timestamp") AS close, ${unitsSql(`sum(${SHARES})`)} AS volume, sum(amount) AS amount,
    arg_max_null(open_interest, "timestamp") AS open_interest, arg_min_null(prev_close, "timestamp") AS prev_close,
    arg_max_null(settlement_price, "timestamp") AS settlement_price
  FROM (SELECT *, ${key} AS bucket FROM ${source})
  GROUP BY position, unit, bucket, label_start, label_end
  HAVING ${label} >= label_start AND ${label} < label_end`;
}

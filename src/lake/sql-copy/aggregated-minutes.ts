import {
  adjustedPriceSql,
  BAR_AGGREGATES,
  exactSharesSql,
  int64Sql,
  statedPriceSql,
  unitsSql,
} from "../../db/market/bar-sql.js";
import { sessionGridEndSql, sessionPartEndSql, sessionPartStartSql } from "../../db/market/bucket-sql.js";
import { localMidnightSql, lotSql } from "../../db/market/region-sql.js";
import type { Adjustment } from "../../market/period.js";
import type { Region } from "../../market/regions.js";

/** What is known of minutes without reading them. */
export interface KnownMinutes {
  /** Their regions. */
  readonly regions: readonly Region[];
  /** A date that none of them is before. */
  readonly since: string;
}

/**
 * A SELECT of the bars of a period that minutes make: the rows of `adjusted`, of the relation `minutes`. It is
 * `adjusted_minutes` over `priced_bars` in one piece, without what cannot be: DuckDB plans it in a third of the time.
 * Where prices are adjusted, the relation `steps` has the values.
 *
 * @param stepMs SQL of the length of the bars in milliseconds.
 */
export function aggregatedMinutes(
  adjustment: Adjustment,
  stepMs: string,
  { regions, since }: KnownMinutes,
): string {
  const lot = lotSql("region", regions);
  const parts = [
    `${sessionPartStartSql("region", "local_ms", regions)} AS part_start`,
    `${sessionPartEndSql("region", "local_ms", regions)} AS part_end`,
  ];
  const price = (sql: string, name: string): string =>
    `${adjustedPriceSql(sql, adjustment, "value")} AS ${name}`;
  const stated = ["open", "high", "low"].map((name) => price(`(${statedPriceSql(name, "close")})`, name));
  const others = ["close", "prev_close", "settlement_price"].map((name) => price(name, name));
  const aggregates = Object.entries(BAR_AGGREGATES).map(([name, sql]) => `${sql} AS ${name}`);
  const join =
    adjustment === "none"
      ? ""
      : "LEFT JOIN steps ON steps.symbol = minute.symbol AND trade_date >= start_date AND trade_date < end_date";
  return `SELECT symbol, trade_date, make_timestamptz(label * 1000) AS "timestamp", open, high, low, close,
      ${unitsSql("shares", `(${lot})`)} AS volume, amount, prev_close, open_interest, settlement_price,
      ${lot} AS lot, ${int64Sql("shares")} AS shares, landed_bars, is_final, region
    FROM (
      SELECT symbol, trade_date, label, region, ${aggregates.join(", ")}, sum(shares) AS shares,
        count(*) AS landed_bars, bool_and(is_final) AS is_final
      FROM (
        SELECT minute.symbol, trade_date, "timestamp", region, ${[...stated, ...others].join(", ")}, amount,
          open_interest, is_final, ${exactSharesSql("volume", "lot")} AS shares,
          epoch_ms("timestamp") - local_ms + ${sessionGridEndSql("region", "local_ms", stepMs, "part_start", "part_end", regions)} AS label
        FROM (
          SELECT *, ${parts.join(", ")}
          FROM (
            SELECT *, epoch_ms("timestamp") - (${localMidnightSql("trade_date", "region", regions, since)}) AS local_ms
            FROM minutes
          )
        ) AS minute
        ${join}
      )
      GROUP BY symbol, region, trade_date, label
    )`;
}

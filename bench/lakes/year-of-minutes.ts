import type { Session } from "../../src/db/session/session.js";
import type { Lake } from "../../src/lake/lake.js";
import { BARS_1M } from "../../src/schema/bars.js";
import { writeFiles } from "./write-files.js";

/** The size of a year of minutes. */
export interface YearSpec {
  /** Symbols from 600000.SH on; each has a bar in every minute of every weekday. */
  readonly symbols: number;
  /** From January 2025 on. */
  readonly months: number;
}

/**
 * Writes minute bars, the same in every run, with the lake's own writer: one sorted file per month, as in a compacted
 * lake. DuckDB creates the rows: some millions a second matter more here than a realistic market.
 */
export async function writeYear(session: Session, lake: Lake, { symbols, months }: YearSpec): Promise<void> {
  const files = Array.from({ length: months }, (_, m) => {
    const month = new Date(Date.UTC(2025, m)).toISOString().slice(0, 10);
    return { sql: monthSql(month, 0, symbols), values: { region: "CN", month } };
  });
  await writeFiles(session, lake, BARS_1M, files);
}

/** The price of symbol `s` at a minute counted from the start of the year: two waves and a few cents of noise. */
function priceSql(minute: string): string {
  const wave = `1 + 0.2 * sin(${minute} / 9000 + s) + 0.01 * sin(${minute} / 61.0 + s)`;
  return `round((5 + s % 97) * (${wave}) + CAST(hash(s, ${minute}) % 7 AS INTEGER) / 100, 2)`;
}

/** A month of symbols from number `start` up to `end`, exclusive. @param minutes the first ones of each day. */
export function monthSql(month: string, start: number, end: number, minutes = 240): string {
  const minute = "day * 240 + i";
  return `SELECT symbol, timestamp, trade_date, open, close, volume,
      round(greatest(open, close) + CAST(noise % 4 AS INTEGER) / 100, 2) AS high,
      round(least(open, close) - CAST(noise // 4 % 4 AS INTEGER) / 100, 2) AS low,
      round(volume * 100 * (open + close) / 2, 2) AS amount,
      NULL::DOUBLE AS open_interest, NULL::DOUBLE AS prev_close, NULL::DOUBLE AS settlement_price,
      100::INTEGER AS lot, true AS is_final
    FROM (SELECT printf('%06d.SH', 600000 + s) AS symbol, d::DATE AS trade_date,
        make_timestamptz(epoch_us(d) + (CASE WHEN i < 120 THEN 91 + i ELSE 181 + i END) * 60000000) AS timestamp,
        ${priceSql(`(${minute} - 1)`)} AS open, ${priceSql(`(${minute})`)} AS close,
        CAST(exp(CAST(hash(s, ${minute}, 2) % 1000 AS INTEGER) / 130.0) AS BIGINT) AS volume,
        hash(s, ${minute}, 3) AS noise
      FROM range(${start}, ${end}) a(s), range(${minutes}) b(i),
        (SELECT d, d::DATE - DATE '2025-01-01' AS day
         FROM range(TIMESTAMP '${month}', TIMESTAMP '${month}' + INTERVAL 1 MONTH, INTERVAL 1 DAY) c(d)
         WHERE isodow(d) < 6))`;
}

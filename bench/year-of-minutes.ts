import type { Session } from "../src/db/session.js";
import { commitInfoAction } from "../src/lake/commit-actions.js";
import { writeDataFile } from "../src/lake/data-file.js";
import type { AddFile } from "../src/lake/delta-actions.js";
import { commit, schemaActions } from "../src/lake/delta-log.js";
import type { Lake } from "../src/lake/lake.js";
import { BARS_1M } from "../src/schema/bars.js";

/** How much of a year is made. */
export interface YearSpec {
  /** Symbols from 600000.SH on; each has a bar in every minute of every weekday. */
  readonly symbols: number;
  /** From January 2025 on. */
  readonly months: number;
}

/**
 * Writes minute bars, equal from run to run, with the lake's own writer: a sorted file a month, as a compacted lake has
 * them. DuckDB makes the rows: some millions a second matter more here than a market that looks real.
 */
export async function writeYear(session: Session, lake: Lake, { symbols, months }: YearSpec): Promise<void> {
  const base = await lake.snapshot(BARS_1M);
  const adds: AddFile[] = [];
  for (let m = 0; m < months; m++) {
    const month = new Date(Date.UTC(2025, m)).toISOString().slice(0, 10);
    const values = { region: "CN", month };
    adds.push(
      await writeDataFile(session, lake.storage, base, monthSql(month, symbols), values, {
        as: "compacted",
        now: 0,
      }),
    );
  }
  const actions = [
    commitInfoAction(
      { operation: "BENCHMARK", runId: "benchmark", now: 0 },
      { numInsertedRows: 0, numUpdatedRows: 0 },
    ),
    ...schemaActions(base, base.columns, 0),
    ...adds.map((add) => ({ add })),
  ];
  const after = await commit(lake.storage, base, actions, 0);
  if (after === undefined) throw new TypeError("another writer is in the benchmark's lake");
  lake.remember(after);
}

/** The price of symbol `s` at a minute counted from the year's begin: two waves and a few cents of noise. */
function priceSql(minute: string): string {
  const wave = `1 + 0.2 * sin(${minute} / 9000 + s) + 0.01 * sin(${minute} / 61.0 + s)`;
  return `round((5 + s % 97) * (${wave}) + CAST(hash(s, ${minute}) % 7 AS INTEGER) / 100, 2)`;
}

function monthSql(month: string, symbols: number): string {
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
      FROM range(${symbols}) a(s), range(240) b(i),
        (SELECT d, d::DATE - DATE '2025-01-01' AS day
         FROM range(TIMESTAMP '${month}', TIMESTAMP '${month}' + INTERVAL 1 MONTH, INTERVAL 1 DAY) c(d)
         WHERE isodow(d) < 6))`;
}

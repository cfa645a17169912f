import type { Session } from "../../src/db/session/session.js";
import type { Lake } from "../../src/lake/lake.js";
import { BARS_1D, BARS_1M } from "../../src/schema/bars.js";
import { INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../src/schema/reference.js";
import { writeFiles } from "./write-files.js";
import { monthSql } from "./year-of-minutes.js";

/** The size of a market. */
export interface MarketSpec {
  /** Symbols from 600000.SH on; each has a bar on every weekday. */
  readonly symbols: number;
  /** Whole years of daily bars before 2025. */
  readonly years: number;
  /** Number of months of minutes from January 2025 on. */
  readonly months: number;
}

/** The universe that contains all symbols. */
export const UNIVERSE = "bench_all";

/** Symbols of a file of minutes: a file then has about 70 MB, as in a compacted lake. */
const SYMBOLS_A_FILE = 1000;

/**
 * Writes daily bars, minutes and reference data of a market, the same in every run. The daily bars end one day before
 * the minutes, as they do while a market is open.
 */
export async function writeMarket(session: Session, lake: Lake, spec: MarketSpec): Promise<void> {
  const { symbols, years, months } = spec;
  const lastDay = `last_day(DATE '2025-01-01' + INTERVAL ${months - 1} MONTH)`;
  const [row] = await session.json<{ day: string }>(
    `SELECT CAST(max(d) AS VARCHAR) AS day FROM (SELECT unnest(generate_series(DATE '2025-01-01', ${lastDay}, INTERVAL 1 DAY))::DATE AS d)
     WHERE isodow(d) < 6`,
  );
  const daily = Array.from({ length: years + 1 }, (_, n) => 2025 - years + n);
  await writeDays(session, lake, { symbols, years: daily, end: row?.day ?? "" });
  const parts = Array.from({ length: Math.ceil(symbols / SYMBOLS_A_FILE) }, (_, n) => n * SYMBOLS_A_FILE);
  const minutes = Array.from({ length: months }, (_, m) =>
    new Date(Date.UTC(2025, m)).toISOString().slice(0, 10),
  );
  await writeFiles(
    session,
    lake,
    BARS_1M,
    minutes.flatMap((month) =>
      parts.map((start) => ({
        sql: monthSql(month, start, Math.min(start + SYMBOLS_A_FILE, symbols)),
        values: { region: "CN", month },
      })),
    ),
  );
  await writeReference(session, lake, symbols);
}

/** Which daily bars to create: of symbols from 600000.SH on, in some years, from a day, up to a day, exclusive. */
export interface DaysSpec {
  readonly symbols: number;
  readonly years: readonly number[];
  readonly start?: string;
  readonly end: string;
}

/** Writes daily bars, one file per year. */
export async function writeDays(
  session: Session,
  lake: Lake,
  { symbols, years, start = "0001-01-01", end }: DaysSpec,
): Promise<void> {
  const files = years.map((year) => ({
    sql: yearSql(year, symbols, start, end),
    values: { region: "CN", year: String(year) },
  }));
  await writeFiles(session, lake, BARS_1D, files);
}

/**
 * The daily bars of a year, from a day, up to a day, exclusive. On one day in 250 a symbol goes ex: its previous close
 * is restated.
 */
function yearSql(year: number, symbols: number, start: string, end: string): string {
  const price = (day: string): string =>
    `round((5 + s % 97) * (1 + 0.3 * sin((${day}) / 90.0 + s)) + CAST(hash(s, ${day}) % 50 AS INTEGER) / 100, 2)`;
  return `SELECT symbol, timestamp, trade_date, prev_close AS open, close, volume,
      CASE WHEN hash(symbol, trade_date) % 250 = 0 THEN round(prev_close * 0.97, 2) ELSE prev_close END AS prev_close,
      round(greatest(prev_close, close) + CAST(volume % 9 AS INTEGER) / 100, 2) AS high,
      round(least(prev_close, close) - CAST(volume % 7 AS INTEGER) / 100, 2) AS low,
      round(volume * 100 * (prev_close + close) / 2, 2) AS amount,
      NULL::DOUBLE AS open_interest, NULL::DOUBLE AS settlement_price,
      100::INTEGER AS lot, true AS is_final
    FROM (SELECT printf('%06d.SH', 600000 + s) AS symbol, d::DATE AS trade_date,
        make_timestamptz(epoch_us(d) - 28_800_000_000) AS timestamp,
        ${price("n")} AS close, ${price("n - CASE WHEN isodow(d) = 1 THEN 3 ELSE 1 END")} AS prev_close,
        CAST(100 + hash(s, n, 2) % 1000000 AS BIGINT) AS volume
      FROM range(${symbols}) a(s), (SELECT d, d::DATE - DATE '2000-01-01' AS n
        FROM range(greatest(TIMESTAMP '${year}-01-01', TIMESTAMP '${start}'), least(TIMESTAMP '${year + 1}-01-01', TIMESTAMP '${end}'), INTERVAL 1 DAY) b(d)
        WHERE isodow(d) < 6))`;
}

/** Writes instruments, and a universe of all of them. */
export async function writeReference(session: Session, lake: Lake, symbols: number): Promise<void> {
  const version = `make_timestamptz(0) AS valid_from, NULL::TIMESTAMPTZ AS valid_to`;
  const values = { region: "CN" };
  await writeFiles(session, lake, INSTRUMENTS, [
    {
      sql: `SELECT printf('%06d.SH', s) AS symbol, printf('%06d', s) AS code, 'SH' AS exchange, 'Number ' || s AS name,
          'stock' AS type, 'cn_equity' AS ext_type, 1e9::DOUBLE AS float_shares, 2e9::DOUBLE AS total_shares,
          NULL::DOUBLE AS limit_up, NULL::DOUBLE AS limit_down, 0.01::DOUBLE AS tick_size, 100::DOUBLE AS lot_size,
          NULL::DATE AS listing_date, NULL::VARCHAR AS name_en, NULL::VARCHAR AS ext_other, ${version}
        FROM range(600000, 600000 + ${symbols}) a(s)`,
      values,
    },
  ]);
  await writeFiles(session, lake, UNIVERSES, [
    {
      sql: `SELECT '${UNIVERSE}' AS id, 'All' AS name, 'market' AS category, ${symbols}::BIGINT AS symbol_count,
          NULL::VARCHAR AS description, ${version}`,
      values,
    },
  ]);
  await writeFiles(session, lake, UNIVERSE_MEMBERS, [
    {
      sql: `SELECT '${UNIVERSE}' AS id, printf('%06d.SH', s) AS symbol, ${version}, NULL::VARCHAR AS source
        FROM range(600000, 600000 + ${symbols}) a(s)`,
      values,
    },
  ]);
}

import { readColumns } from "../../arrow/scan/result-columns.js";
import { isExEventSql } from "../../db/market/ex-event-sql.js";
import { jsonParameter } from "../../db/session/json-parameter.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import { EX_EVENT_COLUMNS, exEventsOf } from "../../lake/segments/adjust-bars.js";
import type { ExEvent } from "../../market/adjustment/ex-events.js";
import type { HoleOf } from "../../market/holes.js";
import { regionOf } from "../../market/symbol.js";
import { ABSENCES_1D } from "../../schema/absences.js";
import { BARS_1D } from "../../schema/bars.js";
import { TRADING_DAYS } from "../../schema/trading-days.js";
import type { LakeVersion } from "../read/lake-version.js";
import { demandsOf, requestedSql } from "./requested-bars.js";

/**
 * Most symbols whose bars are read from segments. For more symbols DuckDB is used, which reads with all its threads.
 */
const MOST_SYMBOLS = 2000;
const ALL_DAYS = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY };

/** The tables from which ex-events are derived. */
export const EX_EVENT_TABLES = [BARS_1D, TRADING_DAYS, ABSENCES_1D] as const;

/**
 * Derives the ex-events of symbols from all of their daily bars: the days whose `prev_close` differs from the close of
 * the bar before. The bar of a day without trades counts, with its close. A close of 0 is ignored, and so is a close
 * that is followed by a hole.
 *
 * @returns the events of each symbol, in the symbols' order, ascending by day.
 */
export async function readExEvents(
  version: LakeVersion,
  symbols: readonly string[],
  holeOf: HoleOf,
): Promise<ExEvent[][]> {
  const snapshot = await version.snapshot(BARS_1D);
  const events: ExEvent[][] = symbols.map(() => []);
  const { files, requested } = demandsOf(snapshot, symbols);
  if (files.length === 0) return events;
  const { found, buildMissing } = await eventsFromSegments(version, snapshot, symbols, holeOf);
  if (found !== undefined) return found;
  const read = await version.query(async (session) => {
    const sql = `WITH ${requestedSql("$requested")}, closes AS (
        SELECT position, trade_date, prev_close, lag(close) OVER bars AS last_close, lag(trade_date) OVER bars AS last_date
        FROM (${await version.relation(session, snapshot, files)}) JOIN requested USING (symbol)
        WINDOW bars AS (PARTITION BY position ORDER BY "timestamp"))
      SELECT position, CAST(trade_date - DATE '1970-01-01' AS INTEGER) AS day,
        CAST(last_date - DATE '1970-01-01' AS INTEGER) AS last_day,
        last_close / prev_close AS factor, last_close - prev_close AS amount
      FROM closes
      WHERE ${isExEventSql("last_close", "prev_close")}
      ORDER BY position, day`;
    const result = await session.run(sql, { requested: jsonParameter(requested) });
    return readColumns(result, {
      position: "int32",
      day: "int32",
      last_day: "int32",
      factor: "double",
      amount: "double",
    });
  });
  buildMissing?.();
  const { position, day, last_day, factor, amount } = read.columns;
  for (let row = 0; row < read.rows; row++) {
    const at = position.values[row] as number;
    const symbol = symbols[at] as string;
    const region = regionOf(symbol);
    if (region === undefined) continue;
    if (holeOf({ symbol, region })(last_day.values[row] as number, day.values[row] as number)) continue;
    events[at]?.push({
      day: day.values[row] as number,
      factor: factor.values[row] as number,
      amount: amount.values[row] as number,
    });
  }
  return events;
}

/**
 * The events, if segments have all daily bars of the symbols; otherwise a function that builds the missing segments.
 */
async function eventsFromSegments(
  version: LakeVersion,
  snapshot: Snapshot,
  symbols: readonly string[],
  holeOf: HoleOf,
): Promise<{ readonly found?: ExEvent[][]; readonly buildMissing?: () => void }> {
  const { segments, visibleUntil } = version;
  const isFew = symbols.length <= MOST_SYMBOLS && new Set(symbols).size === symbols.length;
  if (segments === undefined || visibleUntil !== undefined || !isFew) return {};
  const { bars, ...rest } = await segments.read(snapshot, {
    symbols,
    by: "day",
    rangeOf: () => ALL_DAYS,
    columns: EX_EVENT_COLUMNS,
  });
  if (bars === undefined) return rest;
  const events = exEventsOf(bars, holeOf);
  return events === undefined ? {} : { found: symbols.map((symbol) => events.get(symbol) ?? []) };
}

import type { TimeRange } from "../../../core/time.js";
import { literal, literalList } from "../../../db/quote.js";
import type { Session } from "../../../db/session/session.js";
import { parquetRelation } from "../../../db/views/parquet-relation.js";
import type { Lake } from "../../../lake/lake.js";
import { CALENDAR_SYMBOLS, FEWEST_SYMBOLS } from "../../../lake/land/trading-days.js";
import type { Region } from "../../../market/regions.js";
import { rangeOfDay } from "../../../market/sessions.js";
import type { TableSchema } from "../../../schema/column.js";
import { instantSql } from "../../ledger/ledger-sql.js";

/** A day on which symbols traded, according to the final bars of a table. */
export interface TradedDay {
  readonly region: Region;
  readonly range: TimeRange;
  /** Number of symbols that traded, and whether the region's index is one of them. */
  readonly symbols: number;
  readonly hasIndex: boolean;
}

/**
 * The days of some windows on which symbols traded. The calendar does not have the days whose bars landed in this run.
 */
export async function tradedDays(
  { session, lake, table }: { readonly session: Session; readonly lake: Lake; readonly table: TableSchema },
  windows: readonly { readonly region: Region; readonly window: TimeRange }[],
): Promise<TradedDay[]> {
  if (windows.length === 0) return [];
  const bars = await parquetRelation(session, lake.filesOf(await lake.snapshot(table)));
  const within = windows.map(
    ({ region, window: { start, end } }) =>
      `(region = ${literal(region)} AND timestamp >= ${instantSql(start)} AND timestamp < ${instantSql(end)})`,
  );
  const rows = await session.json<Omit<TradedDay, "range"> & { readonly day: number }>(
    `SELECT region, (trade_date - DATE '1970-01-01')::INTEGER AS day, count(DISTINCT symbol)::INTEGER AS symbols,
       bool_or(symbol IN (SELECT unnest(${literalList(Object.values(CALENDAR_SYMBOLS).flat())}))) AS "hasIndex"
     FROM (${bars}) WHERE is_final AND volume > 0 AND (${[...new Set(within)].join(" OR ")})
     GROUP BY region, trade_date`,
  );
  return rows.map(({ day, ...one }) => ({ ...one, range: rangeOfDay(one.region, day) }));
}

/**
 * Whether a day was a session, although symbols have no bar on it: its index traded, or a number of symbols that is
 * not small next to that of the absent ones. A service may have a stray bar on a holiday.
 */
export function wasSession({ symbols, hasIndex }: TradedDay, absent: number): boolean {
  return hasIndex || symbols >= Math.min(FEWEST_SYMBOLS, absent / 10);
}

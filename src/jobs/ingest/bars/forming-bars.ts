import { int64At, int64Words } from "../../../core/int64-words.js";
import { DAY_MS } from "../../../core/time.js";
import { jsonParameter } from "../../../db/session/json-parameter.js";
import { parquetRelation } from "../../../db/views/parquet-relation.js";
import { fileRange } from "../../../lake/files/prune.js";
import { REGIONS } from "../../../market/regions.js";
import { localDate } from "../../../market/zone.js";
import type { Page } from "../../../plan/absence/older-bars.js";
import { type SymbolSpan, symbolSpans } from "../../../plan/absence/window-beginning.js";
import { BARS_1D } from "../../../schema/bars.js";
import type { KlineColumns } from "../../../wire/kline-columns.js";
import { instantSql } from "../../ledger/ledger-sql.js";
import type { Run } from "../../run/run.js";

/** Number of symbols that is sufficient to recognise another period by the values of their bars. */
const MANY_SYMBOLS = 10;
/** No two sessions that follow one another without a weekend or a holiday are further apart, in milliseconds. */
const NEIGHBOURS_MS = 1.5 * DAY_MS;
/** A time that contains the longest period, in milliseconds. */
const YEAR_MS = 366 * DAY_MS;

/**
 * The symbols of a response of days if each of their newest bars is the one of a week, month, quarter or year that has not
 * ended. Its opening is then that of the first session, its high and low are no lower and no higher than those of any session
 * that the lake has since; one day's bar has this by chance for hardly any symbol, and here more than half of ten or more have
 * it. In a response for one session, or about fewer symbols, nothing is recognised.
 *
 * @param sessions number of sessions of the requested window.
 */
export async function formingBars(
  run: Run,
  { region, gaps }: Page,
  columns: KlineColumns,
  sessions: number,
): Promise<ReadonlySet<string>> {
  const spans = symbolSpans(columns);
  const isSuspicious = gaps === undefined && sessions > 1 && spans.length >= MANY_SYMBOLS;
  if (!isSuspicious || haveNeighbours(spans, int64Words(columns.timestamp))) return new Set();
  const { open, high, low } = columns.doubles;
  const newest = spans.map(({ symbol, end }) => ({
    symbol,
    row: end - 1,
    at: Number(columns.timestamp[end - 1]),
  }));
  const values = (column: typeof open): string =>
    jsonParameter(newest.map(({ row }) => column.values[row] as number));
  const end = newest.reduce((latest, { at }) => Math.max(latest, at), 0);
  const { session, lake } = run.context;
  const [units] = await run.exclusive(async () => {
    const snapshot = await lake.snapshot(BARS_1D);
    const files = [...snapshot.files.values()].filter((file) => {
      const range = fileRange(file);
      const isOfRegion = (file.partitionValues.region ?? region) === region;
      return isOfRegion && range.start < end && range.end > end - YEAR_MS;
    });
    if (files.length === 0) return [];
    return session.json<{ n: number }>(
      `WITH came AS (
         SELECT unnest(from_json($1, '["VARCHAR"]')) AS symbol, unnest(from_json($2, '["DATE"]')) AS day,
           unnest(from_json($3, '["DOUBLE"]')) AS open, unnest(from_json($4, '["DOUBLE"]')) AS high,
           unnest(from_json($5, '["DOUBLE"]')) AS low),
       known AS (
         SELECT symbol, trade_date, open, high, low FROM (${await parquetRelation(session, lake.filesOf(snapshot, files))})
         WHERE timestamp >= ${instantSql(end - YEAR_MS)} AND timestamp < ${instantSql(end)} AND volume > 0),
       judged AS (
         SELECT unit, came.symbol, any_value(came.open) = arg_min(known.open, trade_date)
           AND any_value(came.high) >= max(known.high) AND any_value(came.low) <= min(known.low) AS matches
         FROM came JOIN known ON known.symbol = came.symbol AND trade_date < came.day
           CROSS JOIN (SELECT unnest(['week', 'month', 'quarter', 'year']) AS unit)
         WHERE trade_date >= date_trunc(unit, came.day)
         GROUP BY unit, came.symbol HAVING max(known.high) > min(known.low))
       SELECT count(*)::DOUBLE AS n FROM (
         SELECT unit FROM judged GROUP BY unit
         HAVING count(*) >= ${MANY_SYMBOLS} AND count(*) FILTER (matches) > count(*) / 2)`,
      [
        jsonParameter(newest.map(({ symbol }) => symbol)),
        jsonParameter(newest.map(({ at }) => localDate(at, REGIONS[region].zone))),
        values(open),
        values(high),
        values(low),
      ],
    );
  });
  return units !== undefined && units.n > 0 ? new Set(spans.map(({ symbol }) => symbol)) : new Set();
}

/** Whether two bars of a symbol are on days that follow one another: in most responses the first two. */
function haveNeighbours(spans: readonly SymbolSpan[], words: Uint32Array): boolean {
  for (const { start, end } of spans)
    for (let row = start + 1; row < end; row++)
      if (int64At(words, row) - int64At(words, row - 1) < NEIGHBOURS_MS) return true;
  return false;
}

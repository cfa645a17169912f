import { barScan } from "../../arrow/scan/bar-scan.js";
import { ident, literal } from "../../db/quote.js";
import { jsonParameter } from "../../db/session/json-parameter.js";
import type { Session } from "../../db/session/session.js";
import type { TempTable } from "../../db/session/temp-table.js";
import { ROW_GROUP_ROWS } from "../../lake/files/parquet/write-rows.js";
import { isMinutes } from "../../lake/land/bar-rejects.js";
import { isLoss } from "../../lake/land/rejects.js";
import { finalEnds, possibleEnds } from "../../market/sessions.js";
import { partitionBars } from "../../plan/bar-partitions.js";
import { statedValues } from "../../plan/stated-values.js";
import { KLINE_COLUMNS } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import type { AskedWindow, WholeWindow } from "./ask-window-again.js";

const IN_WINDOW = `symbol IN (SELECT unnest(from_json($1, '["VARCHAR"]')))
  AND timestamp >= make_timestamptz($2::BIGINT * 1000) AND timestamp < make_timestamptz($3::BIGINT * 1000)`;

/** The oldest bar that a lake has of each symbol in a window, in epoch milliseconds. */
export async function oldestInLake(
  session: Session,
  table: TableSchema,
  { symbols, window }: AskedWindow,
): Promise<Map<string, number>> {
  const rows = await session.json<{ symbol: string; oldest: number }>(
    `SELECT symbol, epoch_ms(min(timestamp))::DOUBLE AS oldest FROM raw.${ident(table.name)} WHERE ${IN_WINDOW} GROUP BY symbol`,
    [jsonParameter(symbols), window.start, window.end],
  );
  return new Map(rows.map(({ symbol, oldest }) => [symbol, oldest]));
}

/**
 * Compares a service's bars in a window with the bars of the lake, by key, in the form in which they would land.
 * Symbols with unusable columns are left out. If bars of a symbol were set aside, no bar of the symbol counts as gone:
 * the service has these bars, but in a wrong form.
 *
 * @param compared receives the bars: `symbol`, `timestamp`, `kind` (null where both bars are equal) and `values`.
 * @param now epoch milliseconds.
 */
export async function compareWindow(
  session: Session,
  compared: TempTable,
  table: TableSchema,
  { symbols, window }: AskedWindow,
  { responses, unusable }: WholeWindow,
  now: number,
): Promise<void> {
  const isMinute = isMinutes(table);
  const rules = { finalEnd: finalEnds(now), possibleEnd: possibleEnds(now, isMinute) };
  const bars = responses.map(({ columns }, n) => ({
    columns: statedValues(columns).columns,
    source: `sample ${n}`,
  }));
  const { partitions, broken } = partitionBars(bars, { unit: isMinute ? "month" : "year", ...rules });
  const segments = partitions.flatMap((partition) => partition.segments);
  const scan = session.scan(barScan(segments, ROW_GROUP_ROWS));
  const usable = symbols.filter((symbol) => !unusable.has(symbol));
  const columns = KLINE_COLUMNS.map(({ name }) => ({
    name: literal(name),
    lake: `lake.${ident(name)}`,
    service: `service.${ident(name)}`,
  }));
  const differs = columns.map(({ lake, service }) => `${lake} IS DISTINCT FROM ${service}`).join(" OR ");
  const values = columns.map(
    ({ name, lake, service }) => `CASE WHEN ${lake} IS DISTINCT FROM ${service} THEN
      {'column': ${name}, 'lake': coalesce(${lake}::VARCHAR, 'null'), 'service': coalesce(${service}::VARCHAR, 'null')} END`,
  );
  try {
    await compared.fill(
      `SELECT symbol, timestamp,
         CASE WHEN lake.close IS NULL THEN 'new' WHEN service.close IS NULL THEN 'gone' WHEN ${differs} THEN 'changed' END AS kind,
         CASE WHEN lake.close IS NOT NULL AND service.close IS NOT NULL
           THEN list_filter([${values.join(", ")}], lambda one: one IS NOT NULL) ELSE [] END AS "values"
       FROM (FROM raw.${ident(table.name)} WHERE ${IN_WINDOW}) AS lake
         FULL JOIN ${scan.sql} AS service USING (symbol, timestamp)`,
      [jsonParameter(usable), window.start, window.end],
    );
    const bad = new Set(broken.map(({ symbol }) => symbol));
    for (const { issues } of responses)
      for (const { rule, symbol, rejected } of issues.counts)
        if (symbol !== undefined && isLoss({ rule, rows: rejected })) bad.add(symbol);
    await session.run(
      `DELETE FROM ${compared.name} WHERE kind = 'gone' AND symbol IN (SELECT unnest(from_json($1, '["VARCHAR"]')))`,
      [jsonParameter([...bad])],
    );
  } finally {
    scan.release();
  }
}

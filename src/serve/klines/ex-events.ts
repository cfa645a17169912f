import { readColumns } from "../../arrow/scan/result-columns.js";
import { isPresent } from "../../core/bits.js";
import { isExEventSql } from "../../db/market/ex-terms-sql.js";
import { jsonParameter } from "../../db/session/named-values.js";
import { EX_RULE_TABLES, segmentEvents } from "../../lake/segments/bar-reader.js";
import {
  type ExEvent,
  type ExRule,
  type ExRuleOf,
  exChange,
  NO_TERMS,
  termAfter,
} from "../../market/ex-rule.js";
import { regionOf } from "../../market/symbol.js";
import { BARS_1D } from "../../schema/bars.js";
import type { LakeVersion } from "../read/lake-version.js";
import { demandsOf, requestedSql } from "./requested-bars.js";

/**
 * Most symbols whose bars are read from segments. For more symbols DuckDB is used, which reads with all its threads.
 */
const MOST_SYMBOLS = 2000;

export const EX_EVENT_TABLES = [BARS_1D, ...EX_RULE_TABLES];

/**
 * Derives the ex-events of symbols from all of their daily bars and from what sources say, as the view `ex_events` does. The
 * bar of a day without trades counts, with its close.
 *
 * @returns the events of each symbol, in the symbols' order, ascending by day.
 */
export async function readExEvents(
  version: LakeVersion,
  symbols: readonly string[],
  ruleOf: ExRuleOf,
): Promise<(readonly ExEvent[])[]> {
  const snapshot = await version.snapshot(BARS_1D);
  const events: ExEvent[][] = symbols.map(() => []);
  const { files, requested } = demandsOf(snapshot, symbols);
  if (files.length === 0) return events;
  const { segments, visibleUntil } = version;
  const isFew = symbols.length <= MOST_SYMBOLS && new Set(symbols).size === symbols.length;
  const found =
    segments !== undefined && visibleUntil === undefined && isFew
      ? await segmentEvents(segments, snapshot, symbols, ruleOf)
      : {};
  if (found.events !== undefined) return symbols.map((symbol) => found.events?.get(symbol) ?? []);
  const rules = symbols.map((symbol): ExRule | undefined => {
    const region = regionOf(symbol);
    return region && ruleOf({ symbol, region });
  });
  const exDates = rules.flatMap((rule, at) =>
    Array.from(rule?.terms.days ?? NO_TERMS.days, (day) => ({ position: at, day })),
  );
  const read = await version.query(async (session) => {
    const sql = `WITH ${requestedSql("$requested")}, closes AS (
        SELECT position, CAST(trade_date - DATE '1970-01-01' AS INTEGER) AS day, prev_close, lag(close) OVER bars AS last_close,
          CAST(lag(trade_date) OVER bars - DATE '1970-01-01' AS INTEGER) AS last_day
        FROM (${await version.relation(session, snapshot, files)}) JOIN requested USING (symbol)
        WINDOW bars AS (PARTITION BY position ORDER BY "timestamp")),
      ex_dates AS (SELECT unnest(from_json($exDates, '[{"position": "INTEGER", "day": "INTEGER"}]'), max_depth := 2))
      SELECT c.position, c.day, last_day, last_close, prev_close
      FROM closes AS c
      ASOF LEFT JOIN ex_dates AS t ON t.position = c.position AND t.day <= c.day
      WHERE last_close > 0 AND (t.day > last_day OR ${isExEventSql("last_close", "prev_close")})
      ORDER BY c.position, c.day`;
    const parameters = { requested: jsonParameter(requested), exDates: jsonParameter(exDates) };
    const shape = {
      position: "int32",
      day: "int32",
      last_day: "int32",
      last_close: "double",
      prev_close: "double",
    } as const;
    return readColumns(await session.run(sql, parameters), shape);
  });
  found.buildMissing?.();
  const { position, day, last_day, last_close, prev_close } = read.columns;
  for (let row = 0; row < read.rows; row++) {
    const at = position.values[row] as number;
    const rule = rules[at];
    if (rule === undefined) continue;
    const [last, lastClose] = [last_day.values[row] as number, last_close.values[row] as number];
    const prevClose = isPresent(prev_close.validity, row) ? (prev_close.values[row] as number) : Number.NaN;
    const pair = { last, day: day.values[row] as number, lastClose, prevClose };
    const change = exChange(rule, termAfter(rule.terms, last), pair);
    if (change !== undefined) events[at]?.push({ day: pair.day, ...change });
  }
  return events;
}

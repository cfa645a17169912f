import { literal } from "../../../../src/db/quote.js";
import { finalEnd } from "../../../../src/market/sessions.js";
import type { TableSchema } from "../../../../src/schema/column.js";
import { type LakeState, none } from "./lake-state.js";
import { latestRecheck } from "./lookback.js";
import { byRegion, isIn, type Promised } from "./promised.js";

/**
 * Compares a report's withdrawn bars with the truth: each window has the stated number, no bar is in two windows, and
 * every bar of the days requested again that was withdrawn before the run requested it is in a window.
 */
export async function withdrawnFindings(
  { session, met }: LakeState,
  table: TableSchema,
  { began, ended, withdrawn, hasDeletions }: Promised,
): Promise<string[]> {
  const findings: string[] = [];
  const compare = (what: string, sql: string): Promise<void> =>
    none(session, findings, `${table.name}: ${what}`, sql);
  const since = byRegion((region) => latestRecheck(region, began));
  const final = byRegion((region) => finalEnd(region, began));
  await compare(
    "withdrawn and not in the report",
    `FROM bars WHERE landed IS NOT NULL AND gone_at <= ${began} AND asked_at >= ${began}
       AND timestamp >= ${since} AND timestamp < ${final} AND NOT ${isIn(withdrawn)}`,
  );
  for (const one of withdrawn) {
    const isGone = `gone_at <= ${ended} OR EXISTS (FROM losses o WHERE o.symbol = bars.symbol
      AND bars.timestamp >= o.s AND bars.timestamp < o.e AND NOT o.deleted)`;
    const bars = `FROM bars WHERE landed IS NOT NULL AND ${isIn([one])}`;
    const counted = `SELECT ${literal(one.symbol)} AS symbol, ${one.start} AS start, ${one.end} AS "end", ${one.bars} AS said,
      count(*) FILTER (gone_at <= ${began}) AS least, count(*) FILTER (${isGone}) AS most ${bars}`;
    const isLess = hasDeletions ? "false" : "said < least";
    await compare(
      "the report counts other bars as withdrawn",
      `FROM (${counted}) WHERE ${isLess} OR said > most`,
    );
    const isTwice = withdrawn.some(
      (other) =>
        other !== one && other.symbol === one.symbol && other.start < one.end && one.start < other.end,
    );
    if (isTwice) findings.push(`${table.name}: withdrawn bars of ${one.symbol} are in the report twice`);
    met("bar: withdrawn, and in a report", one.bars);
  }
  return findings;
}

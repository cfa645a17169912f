import { type ResultColumns, readColumns } from "../../arrow/scan/result-columns.js";
import type { TimeRange } from "../../core/time.js";
import { exactSharesSql, statedPriceSql } from "../../db/market/bar-sql.js";
import { jsonParameter } from "../../db/session/json-parameter.js";
import { BARS_1M } from "../../schema/bars.js";
import { demandsOf, requestedSql } from "../klines/requested-bars.js";
import type { LakeView } from "../read/lake-reader.js";

const SHAPE = {
  position: "int32",
  timestamp: "double",
  open: "double",
  high: "double",
  low: "double",
  close: "double",
  shares: "double",
  amount: "double",
  prev_close: "double",
} as const;

/**
 * Minutes in the order of time. `position` is the index of the symbol in the list; timestamps are epoch milliseconds.
 */
export type Minutes = ResultColumns<typeof SHAPE>;

/** Reads the minutes of some symbols in a time range. All of it must be visible in the view. */
export async function readMinutes(
  view: LakeView,
  symbols: readonly string[],
  range: TimeRange,
): Promise<Minutes> {
  const snapshot = await view.version.snapshot(BARS_1M);
  const { files, requested } = demandsOf(snapshot, symbols, { rangeOf: () => range });
  return view.version.query(async (session) => {
    const relation = await view.version.relation(session, snapshot, files);
    const parameters = { requested: jsonParameter(requested), start: range.start, end: range.end };
    return readColumns(await session.run(minutesSql(relation), parameters), SHAPE);
  });
}

function minutesSql(relation: string): string {
  const stated = ["open", "high", "low"].map((name) => `${statedPriceSql(name, "close")} AS ${name}`);
  const instant = (parameter: string): string => `make_timestamptz(CAST(${parameter} AS BIGINT) * 1000)`;
  return `WITH ${requestedSql("$requested")}
    SELECT position, CAST(epoch_ms("timestamp") AS DOUBLE) AS "timestamp", ${stated.join(", ")}, close,
      coalesce(CAST(${exactSharesSql("volume", "lot")} AS DOUBLE), 0) AS shares, amount, prev_close
    FROM (${relation}) AS bars JOIN requested USING (symbol)
    WHERE bars."timestamp" >= ${instant("$start")} AND bars."timestamp" < ${instant("$end")}
    ORDER BY bars."timestamp"`;
}

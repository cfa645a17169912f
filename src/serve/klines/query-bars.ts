import { readColumns } from "../../arrow/scan/result-columns.js";
import { DAY_MS, type TimeRange } from "../../core/time.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import { adjustmentSteps } from "../../market/adjustment/adjustment-steps.js";
import type { ExEvent } from "../../market/adjustment/ex-events.js";
import type { Adjustment } from "../../market/period.js";
import { BARS_1D } from "../../schema/bars.js";
import type { LakeView } from "../read/lake-reader.js";
import type { KlineRows } from "./bar-runs.js";
import type { KlinesRequest } from "./klines-request.js";
import { KLINE_SHAPE, klinesSql } from "./klines-sql.js";
import { demandsOf, lotOf } from "./requested-bars.js";
import { segmentBars } from "./segment-bars.js";

/** Reads the bars of symbols from segments or data files; undefined where no file can contain one of them. */
export async function queryBars(
  view: LakeView,
  snapshot: Snapshot,
  request: KlinesRequest,
  symbols: readonly string[],
  rangeOf: (symbol: string) => TimeRange,
): Promise<KlineRows | undefined> {
  const { files, requested } = demandsOf(snapshot, symbols, {
    rangeOf,
    labelsOf: request.rangeOf,
    unitOf: request.unitOf ?? lotOf,
  });
  const isMadeOfMinutes = snapshot.table === BARS_1D && view.version.visibleUntil !== undefined;
  if (files.length === 0 && !isMadeOfMinutes) return undefined;
  const events = request.adjustment === "none" ? [] : await view.exEvents(symbols);
  const steps = stepsOf(events, request.adjustment, symbols, rangeOf);
  const adjustment = steps.length === 0 ? "none" : request.adjustment;
  const { segments, visibleUntil } = view.version;
  const unitOf = request.unitOf ?? lotOf;
  const landed =
    segments !== undefined && visibleUntil === undefined && request.series.bucket.kind === "landed"
      ? await segmentBars(segments, snapshot, { symbols, rangeOf, unitOf, adjustment, events })
      : {};
  if (landed.rows !== undefined) return landed.rows;
  const rows = await view.version.query(async (session) => {
    const relation = await view.version.relation(session, snapshot, files);
    const sql = klinesSql({ relation, bucket: request.series.bucket, adjustment });
    const bound = { requested: JSON.stringify(requested) };
    const result = await session.run(
      sql,
      adjustment === "none" ? bound : { ...bound, steps: JSON.stringify(steps) },
    );
    return readColumns(result, KLINE_SHAPE);
  });
  landed.buildMissing?.();
  return rows;
}

function stepsOf(
  events: readonly (readonly ExEvent[])[],
  adjustment: Adjustment,
  symbols: readonly string[],
  rangeOf: (symbol: string) => TimeRange,
): object[] {
  return events.flatMap((list, position) => {
    // A trading date differs from its UTC date by at most a day.
    const { start, end } = rangeOf(symbols[position] as string);
    const [first, last] = [Math.floor(start / DAY_MS) - 1, Math.ceil(end / DAY_MS) + 1];
    return adjustmentSteps(list, adjustment)
      .filter((step) => step.start <= last && step.end >= first)
      .map((step) => ({ position, ...step }));
  });
}

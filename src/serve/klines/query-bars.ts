import { readColumns } from "../../arrow/scan/result-columns.js";
import { DAY_MS, type TimeRange } from "../../core/time.js";
import { jsonParameter } from "../../db/session/named-values.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import { adjustmentSteps } from "../../market/adjustment-steps.js";
import type { ExEvent } from "../../market/ex-rule.js";
import type { Adjustment } from "../../market/period.js";
import { inBatches } from "../../plan/request-units.js";
import { BARS_1D } from "../../schema/bars.js";
import type { LakeView } from "../read/lake-reader.js";
import { type BarRun, runsOf, runsOfLanded } from "./bar-runs.js";
import { daysOfMinutes } from "./bring-forward.js";
import { KLINE_SHAPE, klinesSql } from "./klines-sql.js";
import type { KlinesRequest } from "./requested-bars.js";
import { demandsOf, isInShares, lotOf, MINUTES_OF_A_DAY } from "./requested-bars.js";
import { type LandedDemand, type SegmentResult, segmentBars } from "./segment-bars.js";

/**
 * Most symbols whose minutes are in memory at the same time, to make days from them; they are converted in one turn.
 */
const SYMBOLS_OF_MINUTES = 200;

/** Which bars of symbols are read. */
interface BarsOfSymbols {
  readonly rangeOf: (symbol: string) => TimeRange;
  /** Most bars of each symbol: the newest ones. */
  readonly count: number;
  /** Whether the files are new, so that few have a segment. */
  readonly isNew?: boolean;
}

/**
 * Reads the newest bars of symbols from segments or data files.
 *
 * @returns the runs of those symbols that have bars.
 */
export async function queryBars(
  view: LakeView,
  snapshot: Snapshot,
  request: KlinesRequest,
  symbols: readonly string[],
  { rangeOf, count, isNew = false }: BarsOfSymbols,
): Promise<ReadonlyMap<string, BarRun>> {
  const { series, unitOf = lotOf } = request;
  const { files, requested } = demandsOf(snapshot, symbols, { rangeOf, labelsOf: request.rangeOf, unitOf });
  const isMadeOfMinutes = snapshot.table === BARS_1D && view.version.visibleUntil !== undefined;
  if (files.length === 0 && !isMadeOfMinutes) return new Map();
  const events = request.adjustment === "none" ? [] : await view.exEvents(symbols);
  const steps = stepsOf(events, request.adjustment, symbols, rangeOf);
  const adjustment = steps.length === 0 ? "none" : request.adjustment;
  const take = request.memory?.take;
  const demand: LandedDemand = { symbols, rangeOf, unitOf, adjustment, events, take };
  const found = isNew ? {} : await segmentRuns(view, snapshot, request, demand, count);
  const { runs, buildMissing } = found;
  if (runs !== undefined) return runs;
  const rows = await view.version.query(async (session) => {
    const relation = await view.version.relation(session, snapshot, files);
    const sql = klinesSql({ relation, bucket: series.bucket, adjustment });
    const bound = { requested: jsonParameter(requested) };
    const result = await session.run(
      sql,
      adjustment === "none" ? bound : { ...bound, steps: jsonParameter(steps) },
    );
    return readColumns(result, KLINE_SHAPE, take);
  });
  if (view.buildsSegments) buildMissing?.();
  return runsOf(rows, symbols, count);
}

/** The runs of a demand from segments; undefined where the bars must be queried. */
async function segmentRuns(
  view: LakeView,
  snapshot: Snapshot,
  { series, unitOf = lotOf }: KlinesRequest,
  demand: LandedDemand,
  count: number,
): Promise<{ readonly runs?: ReadonlyMap<string, BarRun> } & Pick<SegmentResult, "buildMissing">> {
  const { segments, visibleUntil } = view.version;
  if (segments === undefined || visibleUntil !== undefined) return {};
  if (series.bucket.kind === "landed") {
    const { landed, ...rest } = await segmentBars(segments, snapshot, demand);
    return landed === undefined ? rest : { runs: runsOfLanded(landed, count) };
  }
  // Rounded volumes of minutes cannot be added, and adjusted prices of several days cannot be compared.
  if (series !== MINUTES_OF_A_DAY || !isInShares(unitOf) || demand.adjustment !== "none") return {};
  const runs = new Map<string, BarRun>();
  for (const symbols of inBatches(demand.symbols, SYMBOLS_OF_MINUTES)) {
    view.signal.throwIfAborted();
    const share = symbols.length / demand.symbols.length;
    const { landed, ...rest } = await segmentBars(segments, snapshot, { ...demand, symbols, share });
    if (landed === undefined) return rest;
    const minutes = runsOfLanded(landed, Number.MAX_SAFE_INTEGER);
    for (const [symbol, days] of daysOfMinutes(minutes))
      runs.set(symbol, { ...days, start: Math.max(days.start, days.end - count) });
  }
  return { runs };
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

import type { RecordBatch } from "apache-arrow";
import { epochDay, type TradingDate } from "../../core/time.js";
import type { Lake } from "../../lake/lake.js";
import { adjustPrices, EX_EVENT_COLUMNS, exEventsOf } from "../../lake/segments/adjust-bars.js";
import type { BarsDemand } from "../../lake/segments/block.js";
import { EX_RULE_TABLES, ExRulesByVersion } from "../../lake/segments/ex-rules-by-version.js";
import type { SegmentPlace } from "../../lake/segments/segment-folder.js";
import { SegmentReader } from "../../lake/segments/segment-reader.js";
import type { ExRuleOf } from "../../market/ex-rule.js";
import { BUCKETS, basePeriod } from "../../market/period.js";
import { regionOf } from "../../market/symbol.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import type { LakeState } from "../session/lake-states.js";
import type { BarsRequest } from "./bars-query.js";

const ALL_DAYS = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY };

/**
 * The bars of a request, or a function that makes them available to the next request; neither where only the views have
 * them.
 */
interface SegmentChart {
  readonly batch?: RecordBatch;
  /** Builds the missing segments in the background. */
  readonly buildMissing?: () => void;
}

/**
 * Reads bars of a chart from segments, without a session: minutes, days, and periods that are made from days. They
 * equal the rows of `adjusted`, which a test verifies. It is a class because it owns the reader of segments.
 */
export class SegmentBars implements AsyncDisposable {
  readonly #segments: SegmentReader;
  readonly #hasOwnViews: boolean;
  readonly #rules: ExRulesByVersion<LakeState>;

  /** @param readExRules reads the rules of a state. */
  constructor(lake: Lake, place: SegmentPlace, readExRules: (state: LakeState) => Promise<ExRuleOf>) {
    this.#segments = new SegmentReader(lake, place);
    this.#hasOwnViews = lake.userViews !== undefined;
    this.#rules = new ExRulesByVersion(readExRules);
  }

  /** The bars of a request from a date. @param from the first date. @default everything */
  async read(state: LakeState, request: BarsRequest, from: TradingDate | undefined): Promise<SegmentChart> {
    const { symbol, period, adjustment, to } = request;
    const bucket = BUCKETS[period];
    const region = regionOf(symbol);
    const isCut = bucket.kind === "calendar" && (from !== undefined || to !== undefined);
    if (region === undefined || bucket.kind === "minutes" || isCut || this.#hasOwnViews) return {};
    const [daily, minutes, ...rules] = [BARS_1D, BARS_1M, ...EX_RULE_TABLES].flatMap(
      (table) => state.snapshots.find((one) => one.table === table) ?? [],
    );
    const snapshot = basePeriod(period) === "1d" ? daily : minutes;
    // A table that cannot be read is missing.
    if (snapshot === undefined || daily === undefined || rules.length < EX_RULE_TABLES.length) return {};
    const range = {
      from: from === undefined ? ALL_DAYS.from : epochDay(from),
      to: to === undefined ? ALL_DAYS.to : epochDay(to),
    };
    // Arrow is loaded with the first chart.
    const { calendarBars, chartBatch, chartRows, STORED_COLUMNS, statePrices } = await import(
      "./chart-batch.js"
    );
    const demand = demandOf(symbol, range, STORED_COLUMNS);
    const { bars, ...missing } = await this.#segments.read(snapshot, demand);
    if (bars === undefined) return missing;
    if (bucket.kind === "calendar") statePrices(bars);
    if (adjustment !== "none") {
      const ruleOf = await this.#rules.of(rules, state);
      const { bars: days, ...rest } = await this.#segments.read(
        daily,
        demandOf(symbol, ALL_DAYS, EX_EVENT_COLUMNS),
      );
      if (days === undefined) return rest;
      const events = exEventsOf(days, ruleOf);
      if (events === undefined) return {};
      adjustPrices(bars, events, adjustment);
    }
    const rows = bucket.kind === "calendar" ? calendarBars(bars, bucket.unit) : chartRows(bars);
    return { batch: chartBatch(rows, basePeriod(period), region) };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#segments[Symbol.asyncDispose]();
  }
}

function demandOf(
  symbol: string,
  range: { readonly from: number; readonly to: number },
  columns: ReadonlySet<string>,
): BarsDemand {
  return { symbols: [symbol], by: "day", rangeOf: () => range, columns };
}

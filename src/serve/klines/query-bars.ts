import { readColumns } from "../../arrow/scan/result-columns.js";
import { int64At, int64Words, setInt64 } from "../../core/bits.js";
import { DAY_MS, type TimeRange } from "../../core/time.js";
import { jsonParameter } from "../../db/session/named-values.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import { adjustPrices, hasUnits } from "../../lake/segments/adjust-bars.js";
import type { Bars, BarsRun } from "../../lake/segments/block.js";
import type { SegmentReader } from "../../lake/segments/segment-reader.js";
import { adjustmentSteps } from "../../market/adjustment-steps.js";
import type { ExEvent } from "../../market/ex-rule.js";
import type { Adjustment } from "../../market/period.js";
import type { Region } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import { inBatches } from "../../plan/request-units.js";
import { BARS_1D } from "../../schema/bars.js";
import { DOUBLE_COLUMNS, type KlineValues } from "../../wire/kline-columns.js";
import type { LakeView } from "../read/lake-reader.js";
import { type BarRun, type LandedBars, runsOf, runsOfLanded, type SymbolStretch } from "./bar-runs.js";
import { daysOfMinutes } from "./bring-forward.js";
import { KLINE_SHAPE, klinesSql } from "./klines-sql.js";
import { demandsOf, isInShares, type KlinesRequest, lotOf, MINUTES_OF_A_DAY } from "./requested-bars.js";

/**
 * Most symbols whose minutes are in memory at the same time, to make days from them; they are converted in one turn.
 */
const SYMBOLS_OF_MINUTES = 200;

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

const COLUMNS: ReadonlySet<string> = new Set(["timestamp", "volume", "lot", ...DOUBLE_COLUMNS]);

/** With the trade date, which selects the adjustment of a bar. */
const ADJUSTED_COLUMNS: ReadonlySet<string> = new Set([...COLUMNS, "trade_date"]);

/** A request for landed bars of some symbols, in a lake whose rows are all visible. */
interface LandedDemand {
  readonly symbols: readonly string[];
  /** Epoch milliseconds. */
  readonly rangeOf: (symbol: string) => TimeRange;
  /** The share of a larger demand that this one is. @default 1 */
  readonly share?: number;
  /** Shares in one unit of volume. */
  readonly unitOf: (region: Region) => number;
  readonly adjustment: Adjustment;
  /** Ex-events of each symbol, in the symbols' order, ascending by day. None where `adjustment` is `none`. */
  readonly events: readonly (readonly ExEvent[])[];
  /** Returns memory of at least a number of bytes for the columns. @default new memory */
  readonly take?: ((bytes: number) => ArrayBuffer) | undefined;
}

interface SegmentResult {
  /** Undefined where the bars must be queried. */
  readonly landed?: LandedBars;
  readonly buildMissing?: () => void;
}

async function segmentBars(
  segments: SegmentReader,
  snapshot: Snapshot,
  { symbols, rangeOf, unitOf, adjustment, events, take, share = 1 }: LandedDemand,
): Promise<SegmentResult> {
  if (new Set(symbols).size < symbols.length) return {};
  const { bars, ...rest } = await segments.read(snapshot, {
    symbols,
    by: "time",
    share,
    rangeOf: (symbol) => {
      const { start, end } = rangeOf(symbol);
      return { from: start * 1000, to: end * 1000 };
    },
    columns: adjustment === "none" ? COLUMNS : ADJUSTED_COLUMNS,
    take,
  });
  if (bars === undefined) return rest;
  const bySymbol = new Map(symbols.map((symbol, at) => [symbol, events[at] ?? []]));
  if (adjustment !== "none") adjustPrices(bars, bySymbol, adjustment);
  const landed = landedBars(bars, unitOf);
  return landed === undefined ? {} : { landed };
}

/** The bars in milliseconds and units; undefined where a volume is too large for a double. */
function landedBars(
  { rows, runs, columns }: Bars,
  unitOf: (region: Region) => number,
): LandedBars | undefined {
  const memory = (name: string): ArrayBuffer => columns.get(name)?.buffer ?? new ArrayBuffer(0);
  const timestamp = new BigInt64Array(memory("timestamp"), 0, rows);
  const volume = new BigInt64Array(memory("volume"), 0, rows);
  const lots = new Int32Array(memory("lot"));
  const volumes = int64Words(volume);
  const times = new LandedTimes(timestamp);
  const stretches = new Map<string, SymbolStretch>();
  for (let start = 0, at = 0; at < runs.length; ) {
    const { symbol } = runs[at] as BarsRun;
    let end = start;
    for (; runs[at]?.symbol === symbol; at++) end += (runs[at] as BarsRun).rows;
    if (start === end) continue;
    if (!hasUnits(volumes, lots, { start, end }, unitOf(regionOf(symbol) as Region))) return undefined;
    stretches.set(symbol, { start, end, ascends: times.toMilliseconds(start, end) });
    start = end;
  }
  const doubles = DOUBLE_COLUMNS.map((name) => {
    const values = new Float64Array(memory(name), 0, rows);
    return [name, { values, validity: columns.get(name)?.validity }] as const;
  });
  const values: KlineValues = {
    timestamp,
    volume,
    doubles: Object.fromEntries(doubles) as unknown as KlineValues["doubles"],
  };
  return { values, stretches };
}

/**
 * Converts timestamps from microseconds. Most symbols have bars at the same times as the one before them: these are
 * compared and copied, which takes a quarter of the time.
 */
class LandedTimes {
  readonly #words: Uint32Array;
  /** The last timestamps that were converted, as they were before. */
  #before = new Uint32Array(0);
  #start = 0;
  #rows = 0;
  #ascends = true;

  constructor(timestamps: BigInt64Array) {
    this.#words = int64Words(timestamps);
  }

  /** Converts the timestamps of a symbol. @returns whether each is later than the one before it. */
  toMilliseconds(start: number, end: number): boolean {
    const words = this.#words;
    const rows = end - start;
    if (rows === this.#rows && isEqual(words, 2 * start, this.#before, 2 * rows)) {
      words.copyWithin(2 * start, 2 * this.#start, 2 * (this.#start + rows));
      return this.#ascends;
    }
    if (this.#before.length < 2 * rows) this.#before = new Uint32Array(4 * rows);
    this.#before.set(words.subarray(2 * start, 2 * end));
    let ascends = true;
    for (let row = start, last = Number.NEGATIVE_INFINITY; row < end; row++) {
      const time = Math.floor(int64At(words, row) / 1000);
      if (time <= last) ascends = false;
      setInt64(words, row, time);
      last = time;
    }
    [this.#start, this.#rows, this.#ascends] = [start, rows, ascends];
    return ascends;
  }
}

/** Whether `count` words from `from` on equal the first `count` words of `others`. */
function isEqual(words: Uint32Array, from: number, others: Uint32Array, count: number): boolean {
  for (let at = 0; at < count; at++) if (words[from + at] !== others[at]) return false;
  return true;
}

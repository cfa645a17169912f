import type { RecordBatch } from "apache-arrow";
import { UsageError } from "../../core/errors.js";
import { epochDay } from "../../core/time.js";
import type { Lake, PointInTime } from "../../lake/lake.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import {
  ADJUSTED_COLUMNS,
  adjustedBars,
  adjustPrices,
  EX_EVENT_COLUMNS,
  exEventsOf,
  storedForAdjusted,
} from "../../lake/segments/adjust-bars.js";
import type { BarsDemand } from "../../lake/segments/block.js";
import { EX_RULE_TABLES, ExRulesByVersion } from "../../lake/segments/ex-rules-by-version.js";
import type { SegmentPlace } from "../../lake/segments/segment-folder.js";
import { type BuiltSegments, SegmentReader } from "../../lake/segments/segment-reader.js";
import { storedColumns, viewBars, viewColumns } from "../../lake/segments/view-bars.js";
import type { ExRuleOf } from "../../market/ex-rule.js";
import { ADJUSTMENTS, type Adjustment } from "../../market/period.js";
import { parseSymbol, regionOf } from "../../market/symbol.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { dateOption } from "../inputs.js";
import type { TableFilter } from "./lake-queries.js";

const ALL_DAYS = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY };
/** Number of past states whose tables are cached. */
const MOST_PAST = 4;

/** What a read found: its rows, or what to build so that the next one finds them. */
interface SegmentRead {
  readonly batch?: RecordBatch;
  /** Builds, in the background, the segments that were missing. */
  readonly buildMissing?: () => void;
}

/**
 * Reads of `bars_1d` and `bars_1m` from segments. Wherever the view might give something else, a read finds nothing,
 * and goes through the view: other tables and views, reads of all symbols, arguments that the view refuses.
 *
 * It is a class because it owns the reader of segments.
 */
export class SegmentReads implements AsyncDisposable {
  readonly #lake: Lake;
  readonly #segments: SegmentReader;
  /** Tables of past states, the least recently used first. */
  readonly #past = new Map<string, (table: TableSchema) => Promise<Snapshot>>();
  readonly #rules: ExRulesByVersion<PointInTime>;

  /** @param readExRules reads the rules of a state. */
  constructor(lake: Lake, place: SegmentPlace, readExRules: (state: PointInTime) => Promise<ExRuleOf>) {
    this.#lake = lake;
    this.#rules = new ExRulesByVersion(readExRules);
    this.#segments = new SegmentReader(lake, place);
  }

  /** The rows of a read, as the view gives them. */
  async read(view: string, filter: TableFilter, state: PointInTime): Promise<SegmentRead> {
    const table = [BARS_1D, BARS_1M].find(({ name }) => name === view);
    if (table === undefined || this.#lake.userViews !== undefined) return {};
    if (filter.adjust !== undefined) return this.#readAdjusted(table, filter, filter.adjust, state);
    const known = viewColumns(table);
    const names = filter.columns ?? known;
    const demand = demandOf(filter, names, known, storedColumns);
    const snapshot = demand && (await this.#snapshotOf(table, state));
    if (demand === undefined || snapshot === undefined) return {};
    const { bars, ...rest } = await this.#segments.read(snapshot, demand);
    return bars === undefined ? rest : { batch: viewBars(table, bars, names) };
  }

  /** Builds the segments of all files of a table that have none. */
  async buildAll(table: TableSchema, state: PointInTime): Promise<BuiltSegments> {
    const snapshot = await this.#snapshotOf(table, state);
    return snapshot === undefined ? { files: 0, built: 0 } : await this.#segments.buildAll(snapshot);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#segments[Symbol.asyncDispose]();
  }

  /**
   * The rows of a read as the macro `adjusted` gives them: ex-events follow from all daily bars of the symbols, which
   * take less than half a millisecond a symbol.
   */
  async #readAdjusted(
    table: TableSchema,
    filter: TableFilter,
    adjustment: Adjustment,
    state: PointInTime,
  ): Promise<SegmentRead> {
    const names = filter.columns ?? ADJUSTED_COLUMNS;
    const demand = demandOf(filter, names, ADJUSTED_COLUMNS, storedForAdjusted);
    const isOneState = state.versions === undefined;
    if (demand === undefined || !isOneState || !ADJUSTMENTS.includes(adjustment)) return {};
    const [daily, minutes, ...snapshots] = await Promise.all(
      [BARS_1D, BARS_1M, ...EX_RULE_TABLES].map((one) => this.#snapshotOf(one, state)),
    );
    const rules = snapshots.filter((one) => one !== undefined);
    // The bars and the events of one version: a commit may land between two reads of a log.
    const bars = table === BARS_1D ? daily : minutes;
    if (bars === undefined || daily === undefined || rules.length < EX_RULE_TABLES.length) return {};
    const found = await this.#segments.read(bars, demand);
    if (found.bars === undefined) return found.buildMissing === undefined ? {} : found;
    // Where they cannot be read, the view reports why.
    const ruleOf = await this.#rules.of(rules, state).catch(() => undefined);
    const { symbols } = demand;
    const history: BarsDemand = { symbols, by: "day", rangeOf: () => ALL_DAYS, columns: EX_EVENT_COLUMNS };
    const { bars: days, ...rest } = await this.#segments.read(daily, history);
    if (days === undefined) return rest;
    const events = ruleOf && exEventsOf(days, ruleOf);
    if (events === undefined) return {};
    adjustPrices(found.bars, events, adjustment);
    const batch = adjustedBars(table, found.bars, names);
    return batch === undefined ? {} : { batch };
  }

  /** The table in a state; undefined where reading the view says what is wrong, or shows tables in several states. */
  async #snapshotOf(table: TableSchema, state: PointInTime): Promise<Snapshot | undefined> {
    const { asOf, versions } = state;
    const isAlone = versions === undefined || (versions.size === 1 && versions.has(table.name));
    if (!isAlone || (asOf !== undefined && asOf >= this.#lake.clock.now())) return undefined;
    const isNewest = asOf === undefined && versions === undefined;
    try {
      return await (isNewest ? this.#lake.snapshot(table) : this.#pastOf(state)(table));
    } catch {
      this.#past.delete(keyOf(state));
      return undefined;
    }
  }

  #pastOf(state: PointInTime): (table: TableSchema) => Promise<Snapshot> {
    const key = keyOf(state);
    const reader = this.#past.get(key) ?? this.#lake.reader(state);
    this.#past.delete(key);
    this.#past.set(key, reader);
    const [oldest] = this.#past.keys();
    if (this.#past.size > MOST_PAST && oldest !== undefined) this.#past.delete(oldest);
    return reader;
  }
}

function keyOf({ asOf, versions }: PointInTime): string {
  return JSON.stringify([asOf, [...(versions ?? [])]]);
}

/**
 * The bars of a filter; undefined where the view must be read: of all symbols, or with an argument that the view
 * refuses.
 *
 * @param known columns that exist. @param stored the stored columns that columns are made of.
 */
function demandOf(
  filter: TableFilter,
  names: readonly string[],
  known: readonly string[],
  stored: (names: readonly string[]) => ReadonlySet<string>,
): BarsDemand | undefined {
  const { symbols: given, from, to } = filter;
  if (given === undefined || given.length === 0) return undefined;
  const isKnown =
    names.length > 0 && names.every((name, at) => known.includes(name) && names.indexOf(name) === at);
  if (!isKnown) return undefined;
  try {
    const symbols = [...new Set(given.map(parseSymbol))].sort();
    if (symbols.some((symbol) => regionOf(symbol) === undefined)) return undefined;
    const dayOf = (name: string, date: string | undefined, otherwise: number): number =>
      date === undefined ? otherwise : epochDay(dateOption(name, date));
    const range = { from: dayOf("from", from, ALL_DAYS.from), to: dayOf("to", to, ALL_DAYS.to) };
    return { symbols, by: "day", rangeOf: () => range, columns: stored(names) };
  } catch (error) {
    if (error instanceof UsageError) return undefined;
    throw error;
  }
}

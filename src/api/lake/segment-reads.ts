import type { RecordBatch } from "apache-arrow";
import { UsageError } from "../../core/errors.js";
import { epochDay } from "../../core/time.js";
import { knownOf, type Lake, type PointInTime } from "../../lake/lake.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import { ALL_DAYS, BarReader, type StateReads } from "../../lake/segments/bar-reader.js";
import type { BarsDemand } from "../../lake/segments/block.js";
import type { SegmentPlace } from "../../lake/segments/segment-folder.js";
import { type BuiltSegments, SegmentReader } from "../../lake/segments/segment-reader.js";
import {
  ADJUSTED_COLUMNS,
  adjustedBars,
  storedColumns,
  storedForAdjusted,
  viewBars,
  viewColumns,
} from "../../lake/segments/view-bars.js";
import { ADJUSTMENTS } from "../../market/period.js";
import { parseSymbol, regionOf } from "../../market/symbol.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { dateOption } from "../inputs.js";
import type { TableFilter } from "./lake-queries.js";
import { stateKey } from "./warm-readers.js";

/** Number of past states whose tables are cached. */
const MOST_PAST = 4;

/** What a read found: its rows, or what to build so that the next one finds them. */
interface SegmentRead {
  readonly batch?: RecordBatch;
  readonly buildMissing?: () => void;
}

/**
 * Reads of `bars_1d` and `bars_1m` from segments. Wherever the view might give something else, a read finds nothing,
 * and goes through the view: other tables and views, reads of all symbols, arguments that the view refuses.
 */
export class SegmentReads implements AsyncDisposable {
  readonly #lake: Lake;
  readonly #segments: SegmentReader;
  readonly #bars: BarReader<PointInTime>;
  /** Tables of past states, the least recently used first. */
  readonly #past = new Map<string, (table: TableSchema) => Promise<Snapshot>>();

  constructor(lake: Lake, place: SegmentPlace, reads: StateReads<PointInTime>) {
    this.#lake = lake;
    this.#segments = new SegmentReader(lake, place);
    this.#bars = new BarReader(this.#segments, reads);
  }

  /** The rows of a read, as the view or, with an adjustment, the macro `adjusted` gives them. */
  async read(view: string, filter: TableFilter, state: PointInTime): Promise<SegmentRead> {
    const table = [BARS_1D, BARS_1M].find(({ name }) => name === view);
    if (table === undefined || this.#lake.userViews !== undefined) return {};
    const { adjust } = filter;
    if (adjust !== undefined && (state.versions !== undefined || !ADJUSTMENTS.includes(adjust))) return {};
    const known = adjust === undefined ? viewColumns(table) : ADJUSTED_COLUMNS;
    const names = filter.columns ?? known;
    const demand = demandOf(filter, names, known, adjust === undefined ? storedColumns : storedForAdjusted);
    const snapshotOf = this.#tablesOf(state, table);
    if (demand === undefined || snapshotOf === undefined) return {};
    const adjusted = { ...demand, adjustment: adjust ?? "none" };
    const { bars, ...rest } = await this.#bars.read(table, adjusted, {
      state,
      snapshotOf,
      known: knownOf(state),
    });
    if (bars === undefined) return rest;
    const batch = adjust === undefined ? viewBars(table, bars, names) : adjustedBars(table, bars, names);
    return batch === undefined ? {} : { batch };
  }

  async buildAll(table: TableSchema, state: PointInTime): Promise<BuiltSegments> {
    const snapshot = await this.#tablesOf(state, table)?.(table);
    return snapshot === undefined ? { files: 0, built: 0 } : await this.#segments.buildAll(snapshot);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#segments[Symbol.asyncDispose]();
  }

  /**
   * The tables in a state; undefined where the view of a table of bars shows tables in several states.
   *
   * @returns a function that returns undefined where reading the view says what is wrong.
   */
  #tablesOf(
    state: PointInTime,
    bars: TableSchema,
  ): ((table: TableSchema) => Promise<Snapshot | undefined>) | undefined {
    const { asOf, versions } = state;
    const isAlone = versions === undefined || (versions.size === 1 && versions.has(bars.name));
    if (!isAlone || (asOf !== undefined && asOf >= this.#lake.clock.now())) return undefined;
    if (asOf === undefined && versions === undefined)
      return (table) => this.#lake.snapshot(table).catch(() => undefined);
    return (table) =>
      this.#pastOf(state)(table).catch(() => {
        this.#past.delete(stateKey(state));
        return undefined;
      });
  }

  #pastOf(state: PointInTime): (table: TableSchema) => Promise<Snapshot> {
    const key = stateKey(state);
    const reader = this.#past.get(key) ?? this.#lake.reader(state);
    this.#past.delete(key);
    this.#past.set(key, reader);
    const [oldest] = this.#past.keys();
    if (this.#past.size > MOST_PAST && oldest !== undefined) this.#past.delete(oldest);
    return reader;
  }
}

/**
 * The bars of a filter; undefined where the view must be read: of all symbols, or with an argument that the view
 * refuses.
 *
 * @param stored the stored columns that columns are made of.
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

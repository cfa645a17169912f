import { epochDay } from "../../core/time.js";
import type { Known } from "../../db/market/known-sql.js";
import type { StoredSymbols } from "../../db/market/read-ex-rules.js";
import type { ExEvent, ExRuleOf } from "../../market/ex-rule.js";
import { knownDates } from "../../market/known-at.js";
import type { Adjustment } from "../../market/period.js";
import { byRegion } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import { CORPORATE_ACTIONS, EX_FACTORS, SYMBOL_CHANGES } from "../../schema/actions.js";
import { ABSENCES_1D, BARS_1D, BARS_1M, TRADING_DAYS } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { ByVersion, versionsOf } from "../by-version.js";
import { runningFiles } from "../files/prune.js";
import type { Snapshot } from "../log/snapshot.js";
import { adjustPrices, EX_EVENT_COLUMNS, exEventsOf } from "./adjust-bars.js";
import type { Bars, BarsDemand } from "./block.js";
import type { SegmentBars, SegmentReader } from "./segment-reader.js";

/** The tables from which ex-events follow, in addition to daily bars. */
export const EX_RULE_TABLES: readonly TableSchema[] = [
  TRADING_DAYS,
  ABSENCES_1D,
  CORPORATE_ACTIONS,
  EX_FACTORS,
];

export const ALL_DAYS = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY };

/** Number of versions whose rules and names are cached: the newest, and those of past states that are read in turn. */
const MOST_VERSIONS = 4;

/** Reads, through the views, what bars depend on in a state of the lake. */
export interface StateReads<State> {
  readonly rules: (state: State) => Promise<ExRuleOf>;
  readonly names: (state: State) => Promise<StoredSymbols>;
}

export interface BarState<State> {
  readonly state: State;
  /** A table in the state; undefined where the views say what is wrong. */
  readonly snapshotOf: (table: TableSchema) => Promise<Snapshot | undefined>;
  /** Reads what was known then. @default everything */
  readonly known: Known | undefined;
}

export interface AdjustedDemand extends BarsDemand {
  readonly adjustment: Adjustment;
  /** Changes stored prices before they are adjusted. @default unchanged */
  readonly prepare?: ((bars: Bars) => void) | undefined;
}

/**
 * Reads bars of named symbols from segments, with adjusted prices. It finds nothing where only the views have the
 * rows: where a symbol was renamed, or is a code that was given to another company, and where a table cannot be read.
 */
export class BarReader<State> {
  readonly #segments: SegmentReader;
  readonly #reads: StateReads<State>;
  readonly #rules = new ByVersion<ExRuleOf>(MOST_VERSIONS);
  readonly #names = new ByVersion<StoredSymbols>(MOST_VERSIONS);

  constructor(segments: SegmentReader, reads: StateReads<State>) {
    this.#segments = segments;
    this.#reads = reads;
  }

  /** @param table of bars. @param asked by days; for adjusted prices with the column `trade_date`. */
  async read(table: TableSchema, asked: AdjustedDemand, at: BarState<State>): Promise<SegmentBars> {
    if (await hasRunningDay(table, at)) return {};
    const demand = { ...asked, rangeOf: upTo(at.known, asked.rangeOf) };
    const { symbols, adjustment, prepare } = demand;
    const isAdjusted = adjustment !== "none";
    const others = isAdjusted ? [SYMBOL_CHANGES, BARS_1D, ...EX_RULE_TABLES] : [SYMBOL_CHANGES];
    const read = others.filter((one) => one !== table);
    // One look at all tables, so that bars and events are of one version: a commit may land between two looks.
    const snapshots = await snapshotsOf([table, ...read], at);
    const find = (one: TableSchema): Snapshot | undefined => snapshots?.find((given) => given.table === one);
    const [own, changes] = [find(table), find(SYMBOL_CHANGES)];
    if (own === undefined || changes === undefined) return {};
    if (changes.files.size > 0) {
      const names = await this.#valueOf(this.#names, [changes], at, this.#reads.names);
      if (names === undefined || symbols.some((symbol) => names.has(symbol))) return {};
    }
    const { bars, ...missing } = await this.#segments.read(own, demand);
    if (bars === undefined) return missing;
    prepare?.(bars);
    const daily = find(BARS_1D);
    if (!isAdjusted || daily === undefined) return { bars };
    const rules = EX_RULE_TABLES.flatMap((one) => find(one) ?? []);
    const ruleOf = await this.#valueOf(this.#rules, rules, at, this.#reads.rules);
    if (ruleOf === undefined) return {};
    const { events, ...rest } = await segmentEvents(this.#segments, daily, symbols, ruleOf, at.known);
    if (events === undefined) return rest;
    adjustPrices(bars, events, adjustment);
    return { bars };
  }

  /**
   * What follows from versions of tables; undefined where it cannot be read, or where a commit has landed since the
   * tables were looked at, so that the views have read other versions.
   */
  async #valueOf<T>(
    cache: ByVersion<T>,
    snapshots: readonly Snapshot[],
    at: BarState<State>,
    read: (state: State) => Promise<T>,
  ): Promise<T | undefined> {
    const versions = versionsOf(snapshots);
    const key = at.known === undefined ? versions : `${versions} ${JSON.stringify(at.known)}`;
    const load = async (): Promise<T> => {
      const value = await read(at.state);
      const after = await snapshotsOf(
        snapshots.map(({ table }) => table),
        at,
      );
      if (after === undefined || versionsOf(after) !== versions) throw new Error(`versions: not ${versions}`);
      return value;
    };
    return cache.of(key, load).catch(() => undefined);
  }
}

/**
 * The ex-events of symbols, each list ascending by day, if segments have all their daily bars, which take less than
 * half a millisecond a symbol; otherwise what {@link SegmentReader.read} found.
 */
export async function segmentEvents(
  segments: SegmentReader,
  daily: Snapshot,
  symbols: readonly string[],
  ruleOf: ExRuleOf,
  known?: Known,
): Promise<Omit<SegmentBars, "bars"> & { readonly events?: ReadonlyMap<string, readonly ExEvent[]> }> {
  const rangeOf = upTo(known, () => ALL_DAYS);
  const history: BarsDemand = { symbols, by: "day", rangeOf, columns: EX_EVENT_COLUMNS };
  const { bars, ...rest } = await segments.read(daily, history);
  if (bars === undefined) return rest;
  const events = exEventsOf(bars, ruleOf);
  return events === undefined ? {} : { events };
}

/**
 * Whether a day was running at the time: its bar is made of minutes, and its minutes are only those that had ended. Such rows
 * come from the views.
 */
async function hasRunningDay<State>(
  table: TableSchema,
  { known, snapshotOf }: BarState<State>,
): Promise<boolean> {
  if (typeof known?.knownAt !== "number") return false;
  const minutes = await snapshotOf(BARS_1M);
  return table === BARS_1M || minutes === undefined || runningFiles(minutes, known.knownAt).length > 0;
}

/** Ranges of days until the newest date whose bars were final then. */
function upTo(known: Known | undefined, rangeOf: BarsDemand["rangeOf"]): BarsDemand["rangeOf"] {
  if (known === undefined) return rangeOf;
  const ends = byRegion((region) => epochDay(knownDates(known.knownAt, region).final) + 1);
  return (symbol) => {
    const { from, to } = rangeOf(symbol);
    const region = regionOf(symbol);
    return { from, to: Math.min(to, region === undefined ? to : ends[region]) };
  };
}

/** Tables in a state; undefined where one of them cannot be read. */
async function snapshotsOf<State>(
  tables: readonly TableSchema[],
  { snapshotOf }: BarState<State>,
): Promise<Snapshot[] | undefined> {
  const found = await Promise.all(tables.map(snapshotOf));
  const known = found.filter((one) => one !== undefined);
  return known.length === found.length ? known : undefined;
}

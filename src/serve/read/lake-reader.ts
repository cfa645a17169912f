import { availableParallelism } from "node:os";
import { setImmediate } from "node:timers/promises";
import { LakeError } from "../../core/errors.js";
import { lowerBound } from "../../core/lower-bound.js";
import type { LentMemory } from "../../core/memory-pool.js";
import type { TradingDate } from "../../core/time.js";
import { readExRules, readKnownDays } from "../../db/market/read-ex-rules.js";
import { ByVersion, versionsOf } from "../../lake/by-version.js";
import { fileRange } from "../../lake/files/prune.js";
import type { Lake, PointInTime } from "../../lake/lake.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import type { SegmentOptions } from "../../lake/places.js";
import { EX_RULE_TABLES } from "../../lake/segments/bar-reader.js";
import { SegmentReader } from "../../lake/segments/segment-reader.js";
import type { ExEvent, ExRuleOf } from "../../market/ex-rule.js";
import { knownDates } from "../../market/known-at.js";
import { byRegion, REGION_NAMES, type Region } from "../../market/regions.js";
import { TradingCalendar } from "../../market/trading-calendar.js";
import { CORPORATE_ACTIONS } from "../../schema/actions.js";
import { BARS_1D, BARS_1M, TRADING_DAYS } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { TABLES } from "../../schema/tables.js";
import { type Caller, type Scope, scopeOf } from "../keys/key-ring.js";
import { BarCache } from "../klines/bar-cache.js";
import { EX_EVENT_TABLES, readExEvents } from "../klines/ex-events.js";
import { type FileChanges, FileHistory } from "../klines/file-history.js";
import {
  type DaysOf,
  type FirstMinutes,
  firstMinutes,
  latestDays,
  NewestBars,
} from "../klines/latest-days.js";
import { QuoteTexts } from "../klines/quote-texts.js";
import { SingleFlight } from "../klines/single-flight.js";
import type { AsOfTime } from "../replay/replay-clock.js";
import { FileVerifier, LakeVersion, NullColumns } from "./lake-version.js";
import {
  loadMembers,
  loadReferenceData,
  loadReferenceTimes,
  type Members,
  REFERENCE_TABLES,
  type ReferenceData,
} from "./reference-data.js";
import type { SessionPool } from "./session-pool.js";

type Calendars = Readonly<Record<Region, TradingCalendar>>;

/** Reads the trading days of each region. For a region without known days, every weekday counts as a trading day. */
async function loadCalendars(version: LakeVersion): Promise<Calendars> {
  const snapshot = await version.snapshot(TRADING_DAYS);
  const known = await version.query(async (session) => {
    const relation = await version.relation(session, snapshot, snapshot.files.values());
    return readKnownDays(session, `(${relation})`);
  });
  const calendarOf = (region: Region): TradingCalendar => new TradingCalendar(region, known.get(region));
  return byRegion(calendarOf);
}

/**
 * Makes a function with which requests share reads of a table's log: those that arrive in the same turn of the event
 * loop, and those that arrive while the log is being read, which share the next read. A read starts after the requests
 * that share it have arrived, so that each request sees everything that was committed before its arrival.
 */
export function snapshotReads(read: Lake["snapshot"]): Lake["snapshot"] {
  const current = new Map<TableSchema, Promise<unknown>>();
  const next = new Map<TableSchema, Promise<Snapshot>>();
  let turn: Promise<unknown> | undefined;
  const endOfTurn = (): Promise<unknown> => {
    turn ??= setImmediate().finally(() => {
      turn = undefined;
    });
    return turn;
  };
  const start = (table: TableSchema): Promise<Snapshot> => {
    next.delete(table);
    const reading = read(table).finally(() => current.delete(table));
    current.set(table, reading);
    return reading;
  };
  return (table) => {
    const waiting = next.get(table);
    if (waiting !== undefined) return waiting;
    const following = (current.get(table) ?? endOfTurn()).then(
      () => start(table),
      () => start(table),
    );
    next.set(table, following);
    return following;
  };
}

/** The lake from the view of one request, and data derived from the table versions of the request. */
export interface LakeView {
  readonly version: LakeVersion;
  /** The time of the request, in epoch milliseconds: in a replay, the replayed time. */
  readonly now: number;
  readonly newestBars: NewestBars;
  readonly barCache: BarCache;
  readonly quoteTexts: QuoteTexts;
  readonly loads: SingleFlight;
  /** How the files of a table differ from those of an earlier version; undefined where that is not known. */
  readonly changesSince: (snapshot: Snapshot, earlier: string) => FileChanges | undefined;
  /** Aborts when the client no longer waits for the response. */
  readonly signal: AbortSignal;
  /**
   * Waits until the memory budget has space for the rows of the response. The memory is released when the request ends.
   */
  readonly acquireMemory: (rows: number) => Promise<void>;
  /** See {@link Reading}. */
  readonly memory: LentMemory | undefined;
  /** See {@link Reading}. */
  readonly buildsSegments: boolean;
  /** Whether a table was found replaced since the request arrived: the tables that it has read may differ in history. */
  isReplaced(): boolean;
  /** What the caller may request. */
  scope(): Promise<Scope>;
  /** The members of universes. */
  members(): Promise<Members>;
  /** Instruments, universes and exchanges. */
  reference(): Promise<ReferenceData>;
  exEvents(symbols: readonly string[]): Promise<(readonly ExEvent[])[]>;
  calendars(): Promise<Calendars>;
  /** The latest trading day of each region with minute bars; empty where there are none. */
  latestDays(): Promise<DaysOf>;
  /** In a replay: the instant until which a region's latest day remains the latest (epoch milliseconds, exclusive). */
  nextDay(region: Region): Promise<number>;
}

/** Most symbols whose ex-events are cached, so that requests for ever more new symbols cannot fill the memory. */
const MOST_SYMBOLS = 100_000;

/** Bytes of cached bars: enough for a year of daily bars of about 5,000 symbols. */
const CACHED_BYTES = 96 * 2 ** 20;

export interface Reading {
  readonly caller: Caller;
  readonly signal: AbortSignal;
  /** Waits until the memory budget has this number of rows. */
  readonly acquireMemory: (rows: number) => Promise<void>;
  /** Memory for the bars of a response, which is given back when the response has been sent. @default new memory */
  readonly memory?: LentMemory;
  /** Whether segments that a read lacks are built in the background. @default true */
  readonly buildsSegments?: boolean;
}

interface Cached<T> {
  readonly versions: string;
  readonly value: T;
}

/** How a {@link LakeReader} reads. */
export interface ReaderOptions {
  /** Returns the as-of time of a request that arrives now. */
  readonly asOfNow: () => AsOfTime;
  /** The point in time at which the lake is read. */
  readonly pointInTime: PointInTime;
  /** Called for each damaged file. If it is undefined, files are not verified. */
  readonly onDamage?: ((error: LakeError) => void) | undefined;
  /**
   * Where this machine stores segments of bars, from which bars are read that are not cached. False: no segments are
   * used.
   */
  readonly segments?: SegmentOptions | false | undefined;
  /** In a replay: whether the first version of reference data counts as known before it was seen. @default false */
  readonly assumesReference?: boolean | undefined;
}

/** A date of each region at the time of a version's visible rows; none where all rows are visible. */
function datesOf({ visibleUntil }: LakeVersion, name: "opened" | "today"): TradingDate[] {
  if (visibleUntil === undefined) return [];
  return REGION_NAMES.map((region) => knownDates(visibleUntil, region)[name]);
}

/** Reads a lake for many requests. Each request reads the newest versions; derived data is cached per version. */
export class LakeReader {
  readonly #lake: Lake;
  readonly #pointInTime: PointInTime;
  readonly #read: Lake["snapshot"];
  readonly #pool: SessionPool;
  #newestBars = new NewestBars();
  readonly #verifier: FileVerifier | undefined;
  #barCache = new BarCache(CACHED_BYTES);
  #quoteTexts = new QuoteTexts();
  readonly #loads = new SingleFlight();
  readonly #histories = new Map<TableSchema, FileHistory>(
    [BARS_1D, BARS_1M].map((table) => [table, new FileHistory()]),
  );
  readonly #segments: SegmentReader | undefined;
  readonly #nullColumns: NullColumns;
  #exEvents: Cached<Map<string, readonly ExEvent[]>> | undefined;
  readonly #members = new ByVersion<Members>();
  readonly #reference = new ByVersion<ReferenceData>();
  readonly #calendars = new ByVersion<Calendars>();
  readonly #rules = new ByVersion<ExRuleOf>();
  readonly #firstMinutes = new ByVersion<FirstMinutes>();
  readonly #referenceTimes = new ByVersion<readonly number[]>();
  readonly #asOfNow: () => AsOfTime;
  readonly #assumesReference: boolean;

  constructor(lake: Lake, pool: SessionPool, { asOfNow, pointInTime, onDamage, ...options }: ReaderOptions) {
    const place = options.segments === false ? undefined : lake.segmentPlace(options.segments);
    this.#segments = place && new SegmentReader(lake, place, { thread: availableParallelism() > 1 });
    this.#verifier = onDamage && new FileVerifier(lake, (error) => this.#forget(error, onDamage));
    this.#lake = lake;
    this.#nullColumns = new NullColumns(lake);
    this.#pointInTime = pointInTime;
    this.#asOfNow = asOfNow;
    this.#assumesReference = options.assumesReference ?? false;
    const read = snapshotReads(lake.reader(pointInTime));
    this.#read = async (table) => {
      const snapshot = await read(table);
      this.#histories.get(table)?.note(snapshot);
      return snapshot;
    };
    this.#pool = pool;
  }

  /**
   * Reads the newest version of every table once.
   *
   * @returns the errors of tables that cannot be read; only requests that need these tables fail.
   * @throws {LakeError} for a requested version that cannot be read, and where no table can be read.
   */
  async check(): Promise<readonly LakeError[]> {
    const outcomes = await Promise.allSettled(TABLES.map((table) => this.#read(table)));
    const errors: LakeError[] = [];
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome.status === "fulfilled") continue;
      const isAskedFor = this.#pointInTime.versions?.has(TABLES[index]?.name ?? "") === true;
      if (isAskedFor || !(outcome.reason instanceof LakeError)) throw outcome.reason;
      errors.push(outcome.reason);
    }
    if (errors.length === TABLES.length) throw errors[0];
    return errors;
  }

  async close(): Promise<void> {
    await this.#verifier?.close();
    await this.#segments?.[Symbol.asyncDispose]();
  }

  /** Drops all derived data, because it may come from the damaged file. */
  #forget(error: LakeError, onDamage: (error: LakeError) => void): void {
    this.#newestBars = new NewestBars();
    this.#barCache = new BarCache(CACHED_BYTES);
    this.#quoteTexts = new QuoteTexts();
    this.#exEvents = undefined;
    this.#members.forget();
    this.#reference.forget();
    this.#calendars.forget();
    this.#rules.forget();
    this.#firstMinutes.forget();
    this.#referenceTimes.forget();
    onDamage(error);
  }

  /** The lake from the view of a request that arrives now. */
  current(reading: Reading): LakeView {
    return this.at(this.#asOfNow(), reading);
  }

  /**
   * The lake from the view of a request at a time of the replay. A request of an earlier time never gets what was read
   * for a later one.
   */
  at({ now, visibleUntil }: AsOfTime, reading: Reading): LakeView {
    const { caller, signal, acquireMemory, memory, buildsSegments = true } = reading;
    const assumesReference = this.#assumesReference;
    const known = visibleUntil === undefined ? undefined : { knownAt: visibleUntil, assumesReference };
    const { replacements } = this.#lake;
    const version = new LakeVersion(
      {
        lake: this.#lake,
        read: (table) => this.#read(table),
        pool: this.#pool,
        verifier: this.#verifier,
        segments: this.#segments,
        nullColumns: this.#nullColumns,
        known,
      },
      signal,
    );
    return {
      version,
      now,
      isReplaced: () => replacements !== this.#lake.replacements,
      scope: async () => scopeOf(caller, await this.#membersOf(version)),
      newestBars: this.#newestBars,
      barCache: this.#barCache,
      quoteTexts: this.#quoteTexts,
      loads: this.#loads,
      changesSince: (snapshot, earlier) => this.#histories.get(snapshot.table)?.since(earlier, snapshot),
      signal,
      acquireMemory,
      memory,
      buildsSegments,
      members: () => this.#membersOf(version),
      reference: () => this.#referenceOf(version),
      exEvents: (symbols) => this.#exEventsOf(version, symbols),
      calendars: () => this.#calendarsOf(version),
      latestDays: () => this.#latestDaysOf(version, now),
      nextDay: (region) => this.#nextDayOf(version, region),
    };
  }

  async #membersOf(version: LakeVersion): Promise<Members> {
    return this.#members.of(await this.#referenceKey(version), () => loadMembers(version.shared));
  }

  async #referenceOf(version: LakeVersion): Promise<ReferenceData> {
    const load = async () => loadReferenceData(version.shared, await this.#membersOf(version));
    return this.#reference.of(await this.#referenceKey(version), load);
  }

  /** Identifies the versions of the reference tables, and which of their rows are visible. */
  async #referenceKey(version: LakeVersion): Promise<string> {
    const versions = versionsOf(await Promise.all(REFERENCE_TABLES.map((table) => version.snapshot(table))));
    const { visibleUntil } = version;
    if (visibleUntil === undefined) return versions;
    const times = await this.#referenceTimes.of(versions, () => loadReferenceTimes(version.whole));
    const seen = lowerBound(0, times.length, (at) => (times[at] as number) > visibleUntil);
    // Instruments whose first version counts as known before are those that are listed.
    const today = version.assumesReference ? datesOf(version, "today") : [];
    return [versions, seen, ...today].join(" ");
  }

  async #calendarsOf(version: LakeVersion): Promise<Calendars> {
    const versions = versionsOf([await version.snapshot(TRADING_DAYS)]);
    return this.#calendars.of([versions, ...datesOf(version, "opened")].join(" "), () =>
      loadCalendars(version.shared),
    );
  }

  async #rulesOf(version: LakeVersion): Promise<ExRuleOf> {
    const tables = await Promise.all(EX_RULE_TABLES.map((table) => version.snapshot(table)));
    // Sessions come with a day, an action or its correction at any time.
    const hasActions = tables.some(({ table, files }) => table === CORPORATE_ACTIONS && files.size > 0);
    const key = hasActions
      ? await version.stateOf(EX_RULE_TABLES)
      : [versionsOf(tables), ...datesOf(version, "opened")].join(" ");
    const load = (): Promise<ExRuleOf> => {
      const { shared } = version;
      return shared.query(async (session) => {
        const relations = await Promise.all(
          tables.map(async (table) => `(${await shared.relation(session, table, table.files.values())})`),
        );
        const [tradingDays, absences, actions, factors] = relations as [string, string, string, string];
        return readExRules(session, { tradingDays, absences, actions, factors });
      });
    };
    return this.#rules.of(key, load);
  }

  async #latestDaysOf(version: LakeVersion, now: number): Promise<DaysOf> {
    const snapshot = await version.snapshot(BARS_1M);
    const { visibleUntil } = version;
    if (visibleUntil === undefined) return latestDays(version, snapshot, now);
    return (await this.#firstMinutesOf(version, snapshot, visibleUntil)).latestDays(visibleUntil);
  }

  async #nextDayOf(version: LakeVersion, region: Region): Promise<number> {
    const { visibleUntil: until = Number.POSITIVE_INFINITY } = version;
    const snapshot = await version.snapshot(BARS_1M);
    let next = (await this.#firstMinutesOf(version, snapshot, until)).next(region, until);
    // The days of files that begin later are not known yet.
    for (const file of snapshot.files.values()) {
      const { start } = fileRange(file);
      if (start > until && start < next && file.partitionValues.region === region) next = start;
    }
    return next;
  }

  #firstMinutesOf(version: LakeVersion, snapshot: Snapshot, until: number): Promise<FirstMinutes> {
    const files = [...snapshot.files.values()].filter((file) => fileRange(file).start <= until);
    const key = [versionsOf([snapshot]), ...files.map(({ path }) => path)].join(" ");
    return this.#firstMinutes.of(key, () => firstMinutes(version.whole, snapshot, files));
  }

  async #exEventsOf(version: LakeVersion, symbols: readonly string[]): Promise<(readonly ExEvent[])[]> {
    const versions = await version.stateOf(EX_EVENT_TABLES);
    const isFull = (this.#exEvents?.value.size ?? 0) > MOST_SYMBOLS;
    if (isFull || this.#exEvents?.versions !== versions) this.#exEvents = { versions, value: new Map() };
    const known = this.#exEvents.value;
    const missing = symbols.filter((symbol) => !known.has(symbol));
    if (missing.length > 0) {
      const read = await readExEvents(version, missing, await this.#rulesOf(version));
      for (const [index, symbol] of missing.entries()) known.set(symbol, read[index] ?? []);
    }
    return symbols.map((symbol) => known.get(symbol) ?? []);
  }
}

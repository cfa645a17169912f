import type { RecordBatch } from "apache-arrow";
import { type Row, RowTable } from "../../arrow/row-table.js";
import { UsageError } from "../../core/errors.js";
import type { Clock } from "../../core/time.js";
import { type BuildOptions, type BuildReport, buildDataset } from "../../dataset/build-dataset.js";
import { type Dataset, type DatasetColumns, dataset } from "../../dataset/dataset.js";
import { type DatasetDefinition, type DatasetSpec, defineDataset } from "../../dataset/spec.js";
import { readExRules, readNames } from "../../db/market/read-ex-rules.js";
import type { QueryValues } from "../../db/session/named-values.js";
import type { Session } from "../../db/session/session.js";
import {
  definePipeline,
  type Pipeline,
  type PipelineDefinition,
  quotaOf,
} from "../../jobs/pipeline/definition.js";
import { loadPipeline } from "../../jobs/pipeline/load-pipeline.js";
import {
  type PlannedRequest,
  planPipeline,
  type RunEnvironment,
  type RunOptions,
  type RunReport,
  runPipeline,
} from "../../jobs/run/run-pipeline.js";
import { knownOf, Lake, type LakeOptions, type PointInTime } from "../../lake/lake.js";
import type { SegmentOptions } from "../../lake/places.js";
import type { BuiltSegments } from "../../lake/segments/segment-reader.js";
import { SqlCopyBuilder } from "../../lake/sql-copy/build-sql-copy.js";
import { isLater, knownAtText } from "../../market/known-at.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import { type Service, type ServiceOptions, startService } from "../../serve/http/service.js";
import { type KeyRing, plainKeys } from "../../serve/keys/key-ring.js";
import { expectOptions, expectText, expectTexts } from "../inputs.js";
import type { MarketService } from "../service/connect.js";
import { LakeQueries, type TableFilter, tableQuery } from "./lake-queries.js";
import { SegmentReads } from "./segment-reads.js";
import {
  LAKE_STATE,
  type LakeState,
  pointInTimeOf,
  type WarmReaderOptions,
  WarmReaders,
} from "./warm-readers.js";

/** A dataset of a lake. Nothing is read before it is iterated, or one of its methods is called. */
export interface LakeDataset extends AsyncIterable<RecordBatch> {
  /** The definition, with every default. */
  readonly spec: DatasetSpec;
  /** Opens it: its symbols, dates and warnings, its rows and cells. The caller disposes it. */
  open(): Promise<Dataset>;
  /** All cells at once, aligned, for vectorised work: 8 bytes of memory per cell and field. */
  columns(): Promise<DatasetColumns>;
  /** Writes its files. */
  build(options?: Omit<BuildOptions, "pointInTime">): Promise<BuildReport>;
}

/** The dataset of a definition. Iterated, it gives all rows in order of time as record batches, in bounded memory. */
function lakeDataset(
  lake: Lake,
  spec: DatasetSpec,
  options: { readonly pointInTime: PointInTime; readonly verify: boolean },
): LakeDataset {
  const open = (): Promise<Dataset> => dataset(lake, spec, options);
  return {
    spec,
    open,
    async *[Symbol.asyncIterator]() {
      using opened = await open();
      yield* opened.batches();
    },
    async columns() {
      using opened = await open();
      return await opened.columns();
    },
    build: (build = {}) => buildDataset(lake, spec, { ...build, pointInTime: options.pointInTime }),
  };
}

/** How a lake is served. */
export interface ServeOptions extends Omit<ServiceOptions, "keys" | "port" | "clock" | "pointInTime"> {
  /** 0 takes any free port. @default 0 */
  readonly port?: number | undefined;
  /** Keys that may request everything, or a ring of keys, each with separate limits. */
  readonly keys: readonly string[] | KeyRing;
  /** The time of limits and responses. @default that of the lake */
  readonly clock?: Clock | undefined;
}

/** A running service; disposing it closes it. */
export interface LakeServer extends Service, AsyncDisposable {}

/**
 * Serves a lake.
 *
 * @throws {UsageError} without a key; {@link LakeError} where the lake cannot be read; {@link BarlakeError} where it cannot
 *   listen on the address.
 */
async function serveLake(
  lake: Lake,
  { keys, port = 0, clock = lake.clock, ...options }: ServeOptions,
  pointInTime: PointInTime,
): Promise<LakeServer> {
  const ring = "callerOf" in keys ? keys : ringOf(keys);
  const service = await startService(lake, { ...options, keys: ring, port, clock, pointInTime });
  return { ...service, [Symbol.asyncDispose]: () => service.close() };
}

function ringOf(keys: readonly string[]): KeyRing {
  const given = keys.filter((key) => key !== "");
  if (given.length > 0) return plainKeys(given);
  throw new UsageError("serve: keys has no key: nobody could ask the service", {
    hint: "give at least one text that callers send in x-api-key",
  });
}

/** How a lake is opened, and which state of it is read. */
export interface OpenLakeOptions extends LakeOptions, LakeState, WarmReaderOptions {
  /** Where this machine caches segments of bars, from which {@link LakeConnection.read} reads; false: no cache. */
  readonly segments?: SegmentOptions | false | undefined;
}

/** How one query is run. */
export interface QueryOptions extends LakeState {
  /** Ends the query. */
  readonly signal?: AbortSignal | undefined;
}

/** What of a table is read, and how. */
export interface ReadOptions extends TableFilter, QueryOptions {}

const QUERY = { ...LAKE_STATE, signal: true } satisfies Record<keyof QueryOptions, true>;
const READ = { symbols: true, from: true, to: true, columns: true, adjust: true, ...QUERY } satisfies Record<
  keyof ReadOptions,
  true
>;
const STATEMENT_FIRST = 'write the statement first: lake.query("from bars_1d limit 5")';
const QUERY_OPTIONS = Object.keys(QUERY);
const READ_OPTIONS = Object.keys(READ);

/** What a run requests in addition to its pipeline, and from which service. */
export interface LakeRunOptions extends RunOptions, Pick<RunEnvironment, "onProgress"> {
  /** Ends the run, or its wait; what has arrived is landed. */
  readonly signal?: AbortSignal | undefined;
  /** The service that is requested; the run uses a part of its key. A pipeline of files needs none. */
  readonly service?: MarketService | undefined;
}

/** A pipeline, its definition, its name, or the path of its file. */
export type PipelineSource = string | Pipeline | PipelineDefinition;

/**
 * A lake with a warm session: the first query creates the views, later ones use them again, and see what other
 * processes have committed. Close it, or declare it with `await using`.
 */
export class LakeConnection implements AsyncDisposable {
  /** The lake itself, for the functions that take one. */
  readonly lake: Lake;
  readonly #state: PointInTime;
  readonly #verify: boolean;
  readonly #readers: WarmReaders;
  readonly #segments: SegmentReads | undefined;
  readonly #copies: SqlCopyBuilder | undefined;
  readonly #queries: LakeQueries;

  /** Only {@link openLake} makes one. */
  constructor(location: string, options: OpenLakeOptions) {
    this.#state = pointInTimeOf(options);
    this.lake = new Lake(location, options);
    this.#verify = options.verify ?? true;
    const place = options.segments === false ? undefined : this.lake.segmentPlace(options.segments);
    this.#readers = new WarmReaders(this.lake, { ...options, copies: place });
    // Readers that were opened before a copy was there do not read it.
    const dropOlder = (): void => this.#readers.drop(({ missingCopies }) => missingCopies.length > 0);
    this.#copies = place && new SqlCopyBuilder(this.lake, place, dropOlder);
    this.#queries = new LakeQueries(this.#readers, this.#copies);
    const reading =
      <T>(read: (session: Session) => Promise<T>) =>
      (state: PointInTime): Promise<T> =>
        this.#readers.use(state, undefined, ({ value }) => read(value.session));
    const reads = { rules: reading(readExRules), names: reading(readNames) };
    this.#segments = place && new SegmentReads(this.lake, place, reads);
  }

  /** The name of the lake: an absolute path, or a URL. */
  get location(): string {
    return this.lake.location;
  }

  /**
   * Runs a query over the lake's views. The whole result is in memory; {@link stream} gives it in parts. Each query is
   * separate: what a statement creates or sets ends with it.
   *
   * @param sql one statement of DuckDB; docs/sql.md has the views and macros.
   * @param values of its parameters `$name`.
   * @throws {QueryError} where it fails; {@link LakeError} where a file that it read is damaged; {@link UsageError} for
   *   a lake without a table, and for a value, or a column's type, that Arrow does not have.
   */
  async query<T = Row>(
    sql: string,
    values: QueryValues = {},
    options: QueryOptions = {},
  ): Promise<RowTable<T>> {
    expectText("query", sql, STATEMENT_FIRST);
    expectOptions("query", options, QUERY_OPTIONS);
    return this.#queries.table(this.#stateOf(options), options.signal, async () => ({ sql, values }));
  }

  /** The rows of a query as record batches while DuckDB computes them: one batch is in memory at a time. */
  stream(
    sql: string,
    values: QueryValues = {},
    options: QueryOptions = {},
  ): AsyncGenerator<RecordBatch, void, undefined> {
    expectText("stream", sql, STATEMENT_FIRST);
    expectOptions("stream", options, QUERY_OPTIONS);
    return this.#queries.batches(this.#stateOf(options), options.signal, { sql, values });
  }

  /**
   * Reads a table or a view of the lake: `bars_1d`, `daily_valuation`, or a view of the user, ordered by symbol and
   * time. With `adjust`, bars have adjusted prices, and are the rows and columns of the macro `adjusted('1d' or '1m',
   * …)`. A symbol of `symbols` that was renamed has the rows of all its names, under the one that is asked for, and is cut
   * where its code was given to another company. Bars of other named symbols come from segments on this machine, where it has
   * them; otherwise these are built in the background, and the next read is faster.
   *
   * @throws {UsageError} for a table, a column, a symbol, an adjustment or a date that does not exist, with the names
   *   that do.
   */
  async read<T = Row>(table: string, options: ReadOptions = {}): Promise<RowTable<T>> {
    expectText("read", table, 'name a view or table first: lake.read("bars_1d", { symbols: ["600519.SH"] })');
    expectOptions("read", options, READ_OPTIONS);
    for (const name of ["symbols", "columns"] as const) expectTexts(`read ${table}`, name, options[name]);
    return this.#readTable(table, options);
  }

  /**
   * Builds the segments of bars that this machine does not have, and the copies for SQL, instead of in the background
   * after the first reads: for a job after the nightly run. It takes about a second for a million bars, and stops where
   * the space for them is used up.
   *
   * @param tables of bars. @default bars_1d
   * @returns how many data files of these tables there are, and how many of them have a segment now; both are 0 where
   *   segments are turned off.
   */
  async buildSegments(tables: readonly ("bars_1d" | "bars_1m")[] = ["bars_1d"]): Promise<BuiltSegments> {
    this.#readers.expectOpen();
    let [files, built] = [0, 0];
    for (const name of tables) {
      const one = await this.#segments?.buildAll(name === "bars_1m" ? BARS_1M : BARS_1D, this.#state);
      files += one?.files ?? 0;
      built += one?.built ?? 0;
    }
    // If something is wrong with the lake, the next read of it reports that.
    for (const name of tables)
      await this.#copies?.build(name === "bars_1m" ? "minutes" : "days").catch(() => {});
    return { files, built };
  }

  /**
   * Runs a pipeline: requests what the lake does not have, and lands it. The next call continues
   * a run that was stopped.
   *
   * @throws {UsageError} for a pipeline that does not exist, or lacks what it needs.
   */
  async run(source: PipelineSource, options: LakeRunOptions = {}): Promise<RunReport> {
    const { service, signal, onProgress, ...demand } = options;
    const pipeline = await pipelineOf(source);
    const parts = {
      lake: this.lake,
      clock: this.lake.clock,
      ...(onProgress && { onProgress }),
    };
    if (pipeline.kind === "files" || service === undefined)
      return runPipeline(pipeline, demand, { ...parts, ...(signal && { signal }) });
    const { client, limits, lost } = await service.forRun(this.lake, quotaOf(pipeline));
    const ended = signal === undefined ? lost : AbortSignal.any([signal, lost]);
    const report = await runPipeline(pipeline, demand, { ...parts, client, limits, signal: ended });
    lost.throwIfAborted();
    return report;
  }

  /**
   * The requests that a run of a pipeline of bars would send; undefined for other kinds, whose requests follow from
   * responses.
   */
  async plan(
    source: PipelineSource,
    demand: RunOptions = {},
  ): Promise<readonly PlannedRequest[] | undefined> {
    return planPipeline(await pipelineOf(source), demand, { lake: this.lake, clock: this.lake.clock });
  }

  /**
   * A panel of symbols by days or minutes, for backtests. @throws {UsageError} naming what is wrong in the definition.
   */
  dataset(definition: DatasetDefinition): LakeDataset {
    const options = { pointInTime: this.#state, verify: this.#verify };
    return lakeDataset(this.lake, defineDataset(definition), options);
  }

  /** Serves the lake, in the state that {@link openLake} was given, over HTTP. */
  serve(options: ServeOptions): Promise<LakeServer> {
    return serveLake(this.lake, options, this.#state);
  }

  /** Closes the sessions. Whole results that were requested are computed first; streams end with an error. */
  async close(): Promise<void> {
    await this.#readers[Symbol.asyncDispose]();
    await this.#copies?.[Symbol.asyncDispose]();
    await this.#segments?.[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * The state that a call names, within the clock of the connection, and of its versions where the call names none.
   *
   * @throws {UsageError} for a later time than its own.
   */
  #stateOf({ asOf, versions, knownAt, assumeReference }: LakeState): PointInTime {
    const own = this.#state;
    const isNamed = [asOf, versions, knownAt, assumeReference].some((one) => one !== undefined);
    if (!isNamed) return own;
    const given = pointInTimeOf({ asOf, versions, knownAt, assumeReference });
    if (given.knownAt !== undefined && own.knownAt !== undefined && isLater(given.knownAt, own.knownAt))
      throw new UsageError(
        `knownAt: ${knownAtText(given.knownAt)} is later than the lake was opened for: ${knownAtText(own.knownAt)}`,
        { hint: "give an earlier one, or open the lake for this time" },
      );
    const isOfVersions = given.asOf !== undefined || given.versions !== undefined;
    return {
      ...given,
      ...(!isOfVersions && { asOf: own.asOf, versions: own.versions }),
      ...(given.knownAt === undefined && knownOf(own)),
    };
  }

  async #readTable<T>(table: string, options: ReadOptions): Promise<RowTable<T>> {
    let buildMissing: (() => void) | undefined;
    const fromSegments = async (): Promise<RowTable<T> | undefined> => {
      options.signal?.throwIfAborted();
      const found = await this.#segments?.read(table, options, this.#stateOf(options));
      buildMissing = found?.buildMissing;
      return found?.batch && new RowTable<T>([found.batch]);
    };
    const rows = await this.#queries.table<T>(
      this.#stateOf(options),
      options.signal,
      ({ session }) => tableQuery(session, table, options),
      this.#segments && fromSegments,
    );
    buildMissing?.();
    return rows;
  }
}

async function pipelineOf(source: PipelineSource): Promise<Pipeline> {
  return typeof source === "string" ? loadPipeline(source) : definePipeline(source);
}

/**
 * Opens the lake of a folder's path, or of `s3://bucket/prefix`. Nothing is read before it is used; a run creates a
 * lake that does not exist, and a query of one is refused.
 *
 * @throws {UsageError} for another URL, for a time that is none, and for a table that does not exist.
 */
export function openLake(location: string, options: OpenLakeOptions = {}): LakeConnection {
  return new LakeConnection(location, options);
}

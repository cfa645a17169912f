import type {
  DuckDBConnection,
  DuckDBMaterializedResult,
  DuckDBPreparedStatement,
  DuckDBResult,
  DuckDBValue,
} from "@duckdb/node-api";
import type { RecordBatch } from "apache-arrow";
import { DuckDBResultReader, DuckDBTimestampTZValue, StatementType } from "../../arrow/duckdb-api.js";
import { type Scan, type ScanSource, type TableScans, tableScansOf } from "../../arrow/scan/table-scan.js";
import { BarlakeError, QueryError } from "../../core/errors.js";
import { explained, isFatal } from "../file-fault.js";
import type { StatementProgress } from "../query-engine.js";
import { ident } from "../quote.js";
import { CheckedReads, type ReadCheck } from "../reads/checked-reads.js";
import { type CopyPlace, type ResultCopy, readResult, resultCopy } from "../result/read-result.js";
import { type RowReader, resultReader } from "../result/row-reader.js";
import type { StatementResult } from "../result/statement-result.js";
import { stoppedError, type WhyStopped, wholeResult, whyStopped } from "../result/whole-result.js";
import {
  bindNamed,
  computeValue,
  type NamedValues,
  namedStatement,
  type StatementCheck,
  type TypedValue,
} from "./named-values.js";
import { closeDatabase, connect, type Database, openDatabase, type SessionOptions } from "./open-database.js";

const MOST_CACHED = 32;

/**
 * Prepared queries, which are reused for the same text: binding a query over views takes about as long as running a
 * short query. DuckDB does not bind a prepared query again when one of its views was replaced, so each statement that
 * is not a query empties the cache.
 */
export class CachedStatements {
  readonly #connection: DuckDBConnection;
  /** By text, the least recently used first. */
  readonly #cached = new Map<string, DuckDBPreparedStatement>();

  constructor(connection: DuckDBConnection) {
    this.#connection = connection;
  }

  /** Runs a statement, and gives its result as it is computed. */
  async stream(sql: string, values: DuckDBValue[] | Record<string, DuckDBValue> = {}): Promise<DuckDBResult> {
    const statement = await this.#take(sql);
    if (statement === undefined) {
      this.drop();
      return this.#connection.stream(sql, values);
    }
    // A value that is not given again would otherwise be the last one.
    statement.clearBindings();
    statement.bind(values);
    return statement.stream();
  }

  /** Empties the cache: before a statement that may change a view. */
  drop(): void {
    for (const statement of this.#cached.values()) statement.destroySync();
    this.#cached.clear();
  }

  /** @returns undefined for anything but one valid query. */
  async #take(sql: string): Promise<DuckDBPreparedStatement | undefined> {
    const statement = this.#cached.get(sql) ?? (await this.#connection.prepare(sql).catch(() => undefined));
    if (statement === undefined) return undefined;
    if (statement.statementType !== StatementType.SELECT) {
      statement.destroySync();
      return undefined;
    }
    this.#cached.delete(sql);
    this.#cached.set(sql, statement);
    if (this.#cached.size > MOST_CACHED) {
      const [oldest = "", unused] = this.#cached.entries().next().value ?? [];
      unused?.destroySync();
      this.#cached.delete(oldest);
    }
    return statement;
  }
}

/** Statements that make DuckDB count how far the later ones of a session are. It prints nothing. */
export const TRACK_PROGRESS = ["SET enable_progress_bar = true", "SET enable_progress_bar_print = false"];

/** How far the running statement is; undefined where DuckDB does not know it. */
function statementProgress({ progress }: DuckDBConnection): StatementProgress | undefined {
  const { percentage, rows_processed } = progress;
  return percentage < 0 ? undefined : { percentage, rows: Number(rows_processed) };
}

/** A statement that has not begun yet misses an interrupt, so the interrupt is repeated. */
const EVERY_MS = 20;

/** Interrupts a session's statements once a signal aborts, also those that begin later, until it is disposed. */
export function interruptOn(session: { interrupt(): void }, signal: AbortSignal | undefined): Disposable {
  let repeated: NodeJS.Timeout | undefined;
  const interrupt = (): void => {
    session.interrupt();
    repeated ??= setInterval(() => session.interrupt(), EVERY_MS);
  };
  if (signal?.aborted) interrupt();
  signal?.addEventListener("abort", interrupt, { once: true });
  return {
    [Symbol.dispose]() {
      signal?.removeEventListener("abort", interrupt);
      clearInterval(repeated);
    },
  };
}

/** Values bound to `$1, $2, ...` or, as an object, to `$name`. */
export type Bindings = readonly DuckDBValue[] | Readonly<Record<string, DuckDBValue>>;

/** A DuckDB database with one connection, in UTC. Not for concurrent statements: open several. */
export class Session implements Disposable {
  /** Shared by a session and its siblings. */
  readonly #database: Database;
  /** Whether this session closes the database. */
  readonly #isOwner: boolean;
  readonly #connection: DuckDBConnection;
  readonly #scans: TableScans;
  readonly #cached: CachedStatements;
  #interrupts = 0;
  #reads: CheckedReads | undefined;
  /** Checks the statements that {@link result} runs. */
  statementCheck: StatementCheck | undefined;
  #isClosed = false;

  private constructor(database: Database, isOwner: boolean, connection: DuckDBConnection) {
    this.#database = database;
    this.#isOwner = isOwner;
    this.#connection = connection;
    this.#scans = tableScansOf(database.instance, connection);
    this.#cached = new CachedStatements(connection);
  }

  static async open(options: SessionOptions = {}): Promise<Session> {
    const database = await openDatabase(options);
    // Otherwise the client writes instants as text in the machine's zone, and ignores the session's zone.
    DuckDBTimestampTZValue.timezoneOffsetInMinutes = 0;
    try {
      return new Session(database, true, await connect(database));
    } catch (error) {
      closeDatabase(database);
      throw error;
    }
  }

  /** Whether the views of the session end with it: its database is not a file. */
  get isInMemory(): boolean {
    return this.#database.isInMemory;
  }

  /** Whether an error inside of DuckDB has ended the database: each further statement fails, and another session is needed. */
  get isBroken(): boolean {
    return this.#database.isBroken;
  }

  /** Runs one statement. @throws {QueryError} with the statement. */
  async run(sql: string, bindings?: Bindings): Promise<DuckDBMaterializedResult> {
    return this.#whole(sql, () => this.#change(sql, bindings as DuckDBValue[] | undefined));
  }

  /**
   * Runs one query and returns its result chunk by chunk, as it is computed. A result that stops before its end throws.
   *
   * @param isRepeated whether the statement remains prepared, because the same text may come again.
   * @throws {QueryError} from this call, or while the chunks are read.
   */
  async stream(sql: string, bindings?: Bindings, isRepeated = false): Promise<DuckDBResult> {
    const values = bindings as DuckDBValue[] | undefined;
    if (!isRepeated) this.#cached.drop();
    return this.#guard(sql, async () => {
      const result = await this.#undoable<DuckDBResult>(
        sql,
        () => (isRepeated ? this.#cached : this.#connection).stream(sql, values),
        () => this.#change(sql, values),
      );
      return wholeResult(
        result,
        this.#whyStopped(sql, (statement) => values && statement.bind(values)),
        () => this.checkReads(),
        () => this.#expectOpen(sql),
      );
    });
  }

  /** Runs one statement and returns a reader of its rows as plain values. @throws {QueryError} */
  async read(sql: string, bindings?: Bindings): Promise<RowReader> {
    const result = await this.stream(sql, bindings);
    return resultReader(result, (work) => this.#guard(sql, work));
  }

  /**
   * Runs one query and returns its rows as Arrow record batches, as they are computed. Arrow is loaded with the first.
   *
   * @throws {QueryError} from this call, or while the batches are read.
   */
  async batches(sql: string, bindings?: Bindings): Promise<AsyncGenerator<RecordBatch, void, undefined>> {
    const { resultBatches } = await import("../../arrow/result/result-batches.js");
    const batches = resultBatches(await this.stream(sql, bindings, true));
    const guard = <T>(work: () => Promise<T>): Promise<T> => this.#guard(sql, work);
    return (async function* () {
      for (;;) {
        const next = await guard(() => batches.next());
        if (next.done === true) return;
        yield next.value;
      }
    })();
  }

  /** Runs one query and returns its rows as objects of DuckDB's values, int64 as bigint. For small results. */
  async rows<Row = Record<string, DuckDBValue>>(sql: string, bindings?: Bindings): Promise<Row[]> {
    return (await this.#all(sql, bindings)).getRowObjects() as Row[];
  }

  /** The same as objects of JavaScript values: int64 is bigint; dates and timestamps are Date. */
  async json<Row = Record<string, unknown>>(sql: string, bindings?: Bindings): Promise<Row[]> {
    return (await this.#all(sql, bindings)).getRowObjectsJS() as Row[];
  }

  /** Runs one statement and returns at most `limit` rows as JSON values (int64 as text), and whether there were more. */
  async preview(sql: string, limit: number): Promise<{ names: string[]; rows: unknown[][]; more: boolean }> {
    const reader = new DuckDBResultReader(await this.stream(sql));
    await this.#guard(sql, () => reader.readUntil(limit + 1));
    await this.checkReads();
    const rows = reader.getRowsJson() as unknown[][];
    return { names: reader.deduplicatedColumnNames(), rows: rows.slice(0, limit), more: rows.length > limit };
  }

  /** Runs one statement to its end and returns its first rows by column; `copy` gets every row. Other values are ignored. */
  async result(sql: string, values: NamedValues, limit: number, copy?: ResultCopy): Promise<StatementResult> {
    return this.#guard(sql, async () => {
      this.#cached.drop();
      using statement = namedStatement(this.#connection, sql, values, this.statementCheck);
      const why = this.#whyStopped(sql, (again) => bindNamed(again, values));
      const started = await this.#undoable(sql, statement.stream, statement.run);
      const result = wholeResult(started, why, () => this.checkReads());
      return await readResult(result, limit, copy);
    });
  }

  /** Computes an expression's value, or casts a text to its type. @throws {QueryError} with the expression. */
  async value(expression: string, values: NamedValues, text?: string): Promise<TypedValue> {
    const compute = () => computeValue(this.#connection, expression, values, text);
    return this.#guard(expression, compute).then((value) => this.checkReads().then(() => value));
  }

  /** A new database file that gets a copy of another session's result. */
  copyInto(place: CopyPlace): ResultCopy {
    return resultCopy(this.#connection, place);
  }

  /** Runs `use` with the batch readable as the given table expression. */
  async withBatch<T>(batch: RecordBatch, use: (tableSql: string) => Promise<T>): Promise<T> {
    const { batchScan } = await import("../../arrow/scan/batch-scan.js");
    const scan = this.scan(batchScan(batch));
    try {
      return await use(scan.sql);
    } finally {
      scan.release();
    }
  }

  /** Makes rows of this process readable to SQL until the scan is released. */
  scan(source: ScanSource): Scan {
    return this.#scans.add(source);
  }

  /**
   * Runs statements that may process rows in any order where there is no ORDER BY: several threads then read one scan.
   * The setting applies to the whole database, including siblings, until the work ends.
   */
  async inAnyOrder<T>(work: () => Promise<T>): Promise<T> {
    await this.run("SET preserve_insertion_order = false");
    try {
      return await work();
    } finally {
      await this.run("SET preserve_insertion_order = true");
    }
  }

  /** Sets a check of the files that statements read. Where it fails, the result ends with that error, and is not whole. */
  async onReads(check: ReadCheck): Promise<void> {
    const { instance, spillFolder } = this.#database;
    this.#reads = await CheckedReads.open(instance, this.#connection, check, spillFolder);
  }

  /** Checks the files that were read so far: for callers that do not read a result to its end. */
  async checkReads(): Promise<void> {
    await this.#reads?.check();
  }

  /** How far the running statement is, after {@link TRACK_PROGRESS}. */
  progress(): StatementProgress | undefined {
    return statementProgress(this.#connection);
  }

  /** Stops the statement that is running. */
  interrupt(): void {
    this.#interrupts += 1;
    this.#connection.interrupt();
  }

  /** Another connection to the same database, with its own temporary tables. It ends with the session that owns it. */
  async sibling(): Promise<Session> {
    return this.#guard(
      "another connection",
      async () => new Session(this.#database, false, await connect(this.#database)),
    );
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#reads?.close();
    this.#cached.drop();
    this.#connection.closeSync();
    if (this.#isOwner) closeDatabase(this.#database);
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Makes the error that says why a query's result stopped. @param bind binds the query's values again. */
  #whyStopped(sql: string, bind: (statement: DuckDBPreparedStatement) => void): WhyStopped {
    const interrupts = this.#interrupts;
    return async (rows) => {
      if (this.#interrupts > interrupts)
        return stoppedError(sql, rows, new Error("INTERRUPT Error: Interrupted!"));
      const error = stoppedError(sql, rows, await whyStopped(this.#connection, sql, bind));
      this.#database.isBroken ||= isFatal(error.message);
      return error;
    };
  }

  /** Runs a statement that may change a view. */
  async #change(sql: string, values: DuckDBValue[] | undefined): Promise<DuckDBMaterializedResult> {
    this.#cached.drop();
    return this.#connection.run(sql, values);
  }

  async #all(sql: string, bindings?: Bindings): Promise<DuckDBResultReader> {
    return this.#whole(sql, () => this.#connection.runAndReadAll(sql, bindings as DuckDBValue[] | undefined));
  }

  /** Runs a statement to its end, and checks the files that it read. */
  async #whole<T>(sql: string, run: () => Promise<T>): Promise<T> {
    const value = await this.#guard(sql, () => this.#undoable(sql, run));
    await this.checkReads();
    return value;
  }

  /** Runs a statement. @param change whether it may change something: it is then run to its end. */
  async #undoable<T>(sql: string, query: () => Promise<T>, change = query): Promise<T> {
    return this.#reads === undefined ? query() : this.#reads.run(sql, query, change);
  }

  async #guard<T>(sql: string, run: () => Promise<T>): Promise<T> {
    this.#expectOpen(sql);
    try {
      for (const store of this.#database.stores) await store.refresh();
      return await run();
    } catch (cause) {
      const { message, hint } = cause instanceof BarlakeError ? cause : explained(cause);
      this.#database.isBroken ||= isFatal(message);
      if (cause instanceof BarlakeError) throw cause;
      throw new QueryError(message, sql, { hint, cause });
    }
  }

  /** @throws {QueryError} where the session is closed, or the session that owns its database. */
  #expectOpen(sql: string): void {
    if (this.#isClosed || this.#database.isClosed)
      throw new QueryError("the session is closed", sql, { hint: "open another one" });
  }
}

let made = 0;

/**
 * A temporary table of a session, for one block: `await using rows = new TempTable(session, "rows")`. Its name is new in
 * the process, so no other statement can mean it by chance, and it is dropped at the end of the block.
 */
export class TempTable implements AsyncDisposable {
  readonly #name: string;
  readonly #session: Pick<Session, "run">;
  /** Whether the table may exist: only a statement that was given its name can have created it. */
  #mayExist = false;

  /** Names a table, and creates nothing yet. @param purpose the beginning of the name: letters of a-z, and underscores. */
  constructor(session: Pick<Session, "run">, purpose: string) {
    this.#name = `${purpose}_${++made}`;
    this.#session = session;
  }

  get name(): string {
    this.#mayExist = true;
    return this.#name;
  }

  /** Creates the table with the rows of a query; it replaces what the table had. */
  async fill(query: string, bindings?: Bindings): Promise<void> {
    await this.#create(`AS ${query}`, bindings);
  }

  /** Creates the table, empty, with columns that are given as in DDL; it replaces what the table had. */
  async define(columns: string): Promise<void> {
    await this.#create(`(${columns})`);
  }

  async drop(): Promise<void> {
    if (!this.#mayExist) return;
    await this.#session.run(`DROP TABLE IF EXISTS ${ident(this.#name)}`);
    this.#mayExist = false;
  }

  /** A table that cannot be dropped, in an interrupted session for example, ends with the session. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.drop().catch(() => {});
  }

  async #create(content: string, bindings?: Bindings): Promise<void> {
    await this.#session.run(`CREATE OR REPLACE TEMP TABLE ${ident(this.name)} ${content}`, bindings);
  }
}

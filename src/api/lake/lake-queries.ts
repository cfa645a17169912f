import type { RecordBatch } from "apache-arrow";
import { RowTable } from "../../arrow/row-table.js";
import { UsageError } from "../../core/errors.js";
import type { Checkout } from "../../core/keyed-pool.js";
import { namesSql, ofNamesSql, readNames } from "../../db/market/read-ex-rules.js";
import { ident, literal } from "../../db/quote.js";
import { isQueryText } from "../../db/reads/undo-changes.js";
import { boundValues, type QueryValue } from "../../db/session/named-values.js";
import { interruptOn, type Session } from "../../db/session/session.js";
import type { PointInTime } from "../../lake/lake.js";
import type { Reader } from "../../lake/open-reader.js";
import { expectSame, giveUpCopies } from "../../lake/sql-copy/attach-sql-copy.js";
import type { SqlCopyBuilder } from "../../lake/sql-copy/build-sql-copy.js";
import { asksFor } from "../../lake/sql-copy/sql-copy.js";
import { ADJUSTMENTS, type Adjustment } from "../../market/period.js";
import { parseSymbol } from "../../market/symbol.js";
import { dateOption } from "../inputs.js";
import type { WarmReaders } from "./warm-readers.js";

/** What of a view is read. */
export interface TableFilter {
  /**
   * A name of an instrument that was renamed, of today or of before, has its one history; all symbols are as stored.
   * @default all symbols
   */
  readonly symbols?: readonly string[] | undefined;
  /** First date `YYYY-MM-DD`, of the exchange's calendar. @default all */
  readonly from?: string | undefined;
  /** Date after the last one. @default all */
  readonly to?: string | undefined;
  /** Names of columns, in the order of the result. @default all */
  readonly columns?: readonly string[] | undefined;
  /**
   * How prices of `bars_1d` or `bars_1m` are adjusted for dividends, splits and rights issues. The rows and columns are then
   * those of the macro `adjusted`, also for "none". @default the table as it is
   */
  readonly adjust?: Adjustment | undefined;
}

interface BoundQuery {
  readonly sql: string;
  readonly values: Readonly<Record<string, QueryValue>>;
}

/** Columns that `from` and `to` are about; of a view that has several, the first. */
const DATE_COLUMNS = ["trade_date", "period_end"];
/** Columns by which the rows are ordered, where the view has them. */
const ORDER = ["symbol", "id", "exchange", "trade_date", "timestamp", "period_end", "valid_from"];
/** Symbols up to this number are compared one by one, so that DuckDB skips files by their statistics. */
const FEW_SYMBOLS = 50;
/**
 * The same where prices are adjusted: a list of symbols that are compared one by one reaches the bars that the values to
 * adjust by follow from, others do not. Of 13 million daily bars, 200 scattered symbols then take 1.3 s of processor time
 * instead of 6.5 s, and 1,000 take 3.2 instead of 7.5 s.
 */
const FEW_ADJUSTED_SYMBOLS = 1000;
/** What prices are adjusted by: the view that {@link adjustedSource} reads. */
const STRETCHES = "price_stretches";

/** @throws {UsageError} for a view, a column, a symbol or a date that does not exist, with the names that do. */
export async function tableQuery(session: Session, view: string, filter: TableFilter): Promise<BoundQuery> {
  const { adjust } = filter;
  const hasFactors = adjust !== undefined && adjust !== "none";
  const source = adjust === undefined ? ident(view) : adjustedSource(view, adjust);
  const known = await onceOf(session, `columns of ${source}`, () =>
    adjust === undefined ? columnsOf(session, view) : columnsFrom(session, source),
  );
  const where: string[] = [];
  let ofSymbols: string | undefined;
  let named: NamedSource | undefined;
  const values: Record<string, QueryValue> = {};
  const bind = (name: string, value: QueryValue): string => {
    values[name] = value;
    return `$${name}`;
  };
  if (filter.symbols !== undefined) {
    expectColumn(view, known, "symbol", "symbols");
    const symbols = [...new Set(filter.symbols.map(parseSymbol))];
    const isFew = symbols.length <= (hasFactors ? FEW_ADJUSTED_SYMBOLS : FEW_SYMBOLS);
    const each = (): string => symbols.map((symbol, n) => bind(`symbol_${n}`, symbol)).join(", ");
    named = await namedSource(session, { symbols, view, adjust, known });
    if (symbols.length === 0) where.push("false");
    else if (named !== undefined) {
      // The source has these symbols alone.
    } else if (isFew) {
      ofSymbols = `symbol IN (${each()})`;
      where.push(ofSymbols);
    } else where.push(`symbol IN (SELECT unnest(${bind("symbols", symbols)}))`);
  }
  for (const [name, sign] of [
    ["from", ">="],
    ["to", "<"],
  ] as const) {
    const date = filter[name];
    if (date === undefined) continue;
    const column = DATE_COLUMNS.find((one) => known.includes(one));
    if (column === undefined)
      throw new UsageError(`read ${view}: ${name} is for tables with a date`, {
        hint: `columns: ${known.join(", ")}`,
      });
    where.push(
      `${ident(column)} ${sign} CAST(${bind(name, dateOption(`read ${view}: ${name}`, date))} AS DATE)`,
    );
  }
  for (const column of filter.columns ?? []) expectColumn(view, known, column, "columns");
  if (filter.columns?.length === 0) throw new UsageError(`read ${view}: columns is an empty list`);
  const selected = (filter.columns ?? (named === undefined ? ["*"] : known))
    .map((column) => (column === "*" ? column : ident(column)))
    .join(", ");
  const order = ORDER.filter((name) => known.includes(name));
  // A list of symbols reaches the bars of a join, but not what they are joined with: there it is said once more. The view
  // of this name is then that of the query, also for the macro.
  const stretches =
    hasFactors && ofSymbols !== undefined
      ? [`WITH ${STRETCHES} AS NOT MATERIALIZED (FROM main.${STRETCHES} WHERE ${ofSymbols})`]
      : [];
  const sql = [
    ...(named === undefined ? stretches : [named.before]),
    `SELECT ${selected} FROM ${named?.source ?? source}`,
    ...(where.length > 0 ? [`WHERE ${where.join(" AND ")}`] : []),
    ...(order.length > 0 ? [`ORDER BY ${order.join(", ")}`] : []),
  ].join(" ");
  return { sql, values };
}

/** The landed period of each table of bars. */
const PERIODS: Readonly<Record<string, string>> = { bars_1d: "1d", bars_1m: "1m" };

/** The call of the macro `adjusted`. @throws {UsageError} for another table, or an adjustment that does not exist. */
function adjustedSource(view: string, adjust: Adjustment): string {
  const period = Object.hasOwn(PERIODS, view) ? PERIODS[view] : undefined;
  if (period === undefined)
    throw new UsageError(`read ${view}: adjust is for ${Object.keys(PERIODS).join(" and ")}`);
  if (!ADJUSTMENTS.includes(adjust))
    throw new UsageError(
      `read ${view}: adjust: ${JSON.stringify(adjust)} is not one of ${ADJUSTMENTS.join(", ")}`,
    );
  return `adjusted(${literal(period)}, ${literal(adjust)})`;
}

/** Where rows under other names come from. */
interface NamedSource {
  readonly before: string;
  readonly source: string;
}

/**
 * The rows of symbols of which one has another name; undefined where none has, or the view has no days. What is read is
 * a list of stored symbols, which reaches the files.
 */
async function namedSource(
  session: Session,
  {
    symbols,
    view,
    adjust,
    known,
  }: {
    readonly symbols: readonly string[];
    readonly view: string;
    readonly adjust: Adjustment | undefined;
    readonly known: readonly string[];
  },
): Promise<NamedSource | undefined> {
  if (!known.includes("trade_date")) return undefined;
  const names = await onceOf(session, "names", () => readNames(session));
  if (!symbols.some((symbol) => names.has(symbol))) return undefined;
  const asked = namesSql(symbols);
  return adjust === undefined
    ? { before: ofNamesSql(ident(view), symbols, names), source: `named_rows('of_names', ${asked})` }
    : {
        before: ofNamesSql("ex_events", symbols, names),
        source: `histories(${asked}, ${literal(PERIODS[view] ?? "")}, ${literal(adjust)}, events := 'of_names')`,
      };
}

/** What was read of the views of a session: until it is closed they stay as they are. */
const read = new WeakMap<Session, Map<string, unknown>>();

async function onceOf<T>(session: Session, what: string, load: () => Promise<T>): Promise<T> {
  const known = read.get(session) ?? new Map<string, unknown>();
  read.set(session, known);
  if (!known.has(what)) known.set(what, await load());
  return known.get(what) as T;
}

async function columnsFrom(session: Session, source: string): Promise<readonly string[]> {
  const columns = await session.json<{ name: string }>(
    `SELECT column_name AS name FROM (DESCRIBE SELECT * FROM ${source})`,
  );
  return columns.map(({ name }) => name);
}

/** @throws {UsageError} where there is no such view. */
async function columnsOf(session: Session, view: string): Promise<readonly string[]> {
  const columns = await session.json<{ name: string }>(
    `SELECT column_name AS name FROM duckdb_columns()
     WHERE database_name = current_database() AND schema_name = 'main' AND table_name = $1 ORDER BY column_index`,
    [view],
  );
  if (columns.length > 0) return columns.map(({ name }) => name);
  const views = await session.json<{ name: string }>(
    `SELECT view_name AS name FROM duckdb_views()
     WHERE database_name = current_database() AND schema_name = 'main' AND NOT internal ORDER BY view_name`,
  );
  throw new UsageError(`read: the lake has no table or view ${JSON.stringify(view.slice(0, 64))}`, {
    hint: `it has ${views.map(({ name }) => name).join(", ")}`,
  });
}

function expectColumn(view: string, known: readonly string[], column: string, option: string): void {
  if (known.includes(column)) return;
  throw new UsageError(`read ${view}: ${option}: it has no column ${JSON.stringify(column.slice(0, 64))}`, {
    hint: `columns: ${known.join(", ")}`,
  });
}

/**
 * Runs queries with warm readers. Where one may have failed because of a copy for SQL, the copy is given up, and the
 * query runs again, from the data files.
 */
export class LakeQueries {
  readonly #readers: WarmReaders;
  readonly #copies: SqlCopyBuilder | undefined;

  /** @param copies builds what the queries miss. */
  constructor(readers: WarmReaders, copies: SqlCopyBuilder | undefined) {
    this.#readers = readers;
    this.#copies = copies;
  }

  /** @param without returns the result if it needs no reader. @default a reader is always needed */
  async table<T>(
    state: PointInTime,
    signal: AbortSignal | undefined,
    queryOf: (reader: Reader) => Promise<BoundQuery>,
    without?: () => Promise<RowTable<T> | undefined>,
  ): Promise<RowTable<T>> {
    const use = async (checkout: Checkout<Reader>): Promise<RowTable<T>> => {
      const batches: RecordBatch[] = [];
      const query = await queryOf(checkout.value);
      for await (const batch of batchesOf(checkout, query, signal)) batches.push(batch);
      expectSame(checkout.value.copies);
      this.#noteCopies(checkout.value, query);
      return new RowTable<T>(batches);
    };
    for (;;) {
      let isAgain = false;
      const tried = (checkout: Checkout<Reader>): Promise<RowTable<T>> =>
        use(checkout).catch((error: unknown) => {
          isAgain = this.#gaveUpCopies(checkout, error);
          throw error;
        });
      try {
        return await this.#readers.use(state, signal, tried, without);
      } catch (error) {
        if (!isAgain) throw error;
      }
    }
  }

  /** The rows of a query as they are computed. Once some were passed on, the query is not run again. */
  async *batches(
    state: PointInTime,
    signal: AbortSignal | undefined,
    query: BoundQuery,
  ): AsyncGenerator<RecordBatch, void, undefined> {
    for (;;) {
      using checkout = await this.#readers.lend(state);
      let hasRows = false;
      try {
        for await (const batch of batchesOf(checkout, query, signal)) {
          hasRows = true;
          yield batch;
        }
        expectSame(checkout.value.copies);
        this.#noteCopies(checkout.value, query);
        return;
      } catch (error) {
        this.#readers.expectOpen();
        if (!this.#gaveUpCopies(checkout, error) || hasRows) throw error;
      }
    }
  }

  #noteCopies({ missingCopies }: Reader, { sql, values }: BoundQuery): void {
    for (const file of missingCopies) if (asksFor(file.kind, sql, values)) this.#copies?.note(file);
  }

  /**
   * Gives up copies of a reader where an error may come from them. @returns whether the query may be run again, without
   * these.
   */
  #gaveUpCopies(checkout: Checkout<Reader>, error: unknown): boolean {
    const paths = giveUpCopies(checkout.value.copies, error);
    if (paths.length === 0) return false;
    checkout.discard();
    this.#readers.drop(({ copies }) => copies.some(({ file }) => paths.includes(file.path)));
    return true;
  }
}

async function* batchesOf(
  checkout: Checkout<Reader>,
  { sql, values }: BoundQuery,
  signal: AbortSignal | undefined,
): AsyncGenerator<RecordBatch, void, undefined> {
  signal?.throwIfAborted();
  // What a statement creates or sets does not last beyond it: the next statement may get another reader.
  if (!isQueryText(sql)) checkout.discard();
  const { session } = checkout.value;
  using _ = interruptOn(session, signal);
  try {
    yield* await session.batches(sql, boundValues(values));
  } catch (error) {
    // The caller aborted: its reason says more than the error of the interrupted statement.
    signal?.throwIfAborted();
    throw error;
  }
}

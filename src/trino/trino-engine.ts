import type { RecordBatch } from "apache-arrow";
import { type BatchColumn, columnBatch } from "../arrow/column-batch.js";
import { QueryError, UsageError } from "../core/errors.js";
import type { QueryEngine } from "../db/query-engine.js";
import { literal } from "../db/quote.js";
import { type PlainValue, type ResultColumn, RowReader } from "../db/result/row-reader.js";
import type { StatementResult } from "../db/result/statement-result.js";
import type { NamedValues, TypedValue } from "../db/session/named-values.js";
import { Session, TempTable } from "../db/session/session.js";
import { sqlTokens } from "../db/sql-tokens.js";
import { carrierName, columnForm, selectList } from "./column-type.js";
import type { TrinoClient, TrinoRows } from "./trino-client.js";

/** Types of DuckDB that have another name in Trino. */
const TRINO_TYPE: Readonly<Record<string, string>> = {
  TIMESTAMP: "TIMESTAMP(6)",
  "TIMESTAMP WITH TIME ZONE": "TIMESTAMP(6) WITH TIME ZONE",
  FLOAT: "REAL",
  HUGEINT: "DECIMAL(38, 0)",
};

/**
 * Replaces the parameters `$name` by literals; line numbers do not change. @throws {UsageError} for a parameter without
 * a value.
 */
function withParameters(sql: string, values: NamedValues): string {
  const tokens = sqlTokens(sql);
  let bound = "";
  for (let at = 0; at < tokens.length; at++) {
    const [token, name] = [tokens[at], tokens[at + 1]];
    if (token?.text !== "$" || name?.kind !== "word") {
      bound += token?.text ?? "";
      continue;
    }
    const value = values.get(name.text);
    if (value === undefined) {
      throw new UsageError(`parameter $${name.text} has no value`, {
        hint: values.size > 0 ? `known: ${[...values.keys()].join(", ")}` : "none is declared",
      });
    }
    bound += valueSql(value);
    at++;
  }
  return bound;
}

function valueSql({ value, type }: TypedValue): string {
  const name = TRINO_TYPE[type.toString()] ?? type.toString();
  if (value === null) return `CAST(NULL AS ${name})`;
  const text = String(value);
  // Trino requires an offset with minutes.
  const isInstant = /\d{2}:\d{2}:\d{2}(\.\d+)?[+-]\d{2}$/.test(text);
  return `CAST(${literal(isInstant ? `${text}:00` : text)} AS ${name})`;
}

/** The rows of a page as a record batch of carriers, which `selectList` casts to the columns' types. */
export function pageBatch({ columns, rows }: TrinoRows): RecordBatch {
  const carried = columns.map(({ typeSignature }, index): BatchColumn => {
    const { carrier, carry } = columnForm(typeSignature);
    const values = rows.map((row) => {
      const value = row[index] ?? null;
      return value === null ? null : carry(value);
    });
    return { name: carrierName(index), kind: carrier, values } as BatchColumn;
  });
  return columnBatch(carried, rows.length);
}

interface PlainPage {
  readonly columns: readonly ResultColumn[];
  readonly all: readonly PlainValue[][];
}

/** Waits until the columns are known. A statement that is not a query is run to its end. */
async function openRows(
  pages: AsyncIterator<TrinoRows, void>,
  plain: (page: TrinoRows) => Promise<PlainPage>,
): Promise<RowReader> {
  const next = async (): Promise<readonly PlainValue[][] | undefined> => {
    const { value: page } = await pages.next();
    if (page === undefined) return undefined;
    return page.rows.length > 0 ? (await plain(page)).all : [];
  };
  let { value: page } = await pages.next();
  if (page === undefined) return new RowReader({ columns: [], kind: "nothing" }, next);
  if (page.updateType === undefined) {
    const { columns, all } = await plain(page);
    return new RowReader({ columns, kind: "rows" }, next, all);
  }
  let changed: number | undefined;
  while (page !== undefined) {
    changed = page.updateCount ?? changed;
    ({ value: page } = await pages.next());
  }
  if (changed === undefined) return new RowReader({ columns: [], kind: "nothing" }, next);
  return new RowReader({ columns: [], kind: "changes" }, next, [[changed]]);
}

type Pages = AsyncGenerator<TrinoRows, void, undefined>;

/**
 * Runs SQL in Trino and returns results in the form of DuckDB: each page passes through a session in memory, which
 * casts it to DuckDB's types, so that all outputs are the same for both.
 */
export class TrinoEngine implements QueryEngine {
  readonly hasVariables = false;
  readonly #client: TrinoClient;
  readonly #session: Session;
  #running: { readonly pages: Pages; readonly abort: AbortController } | undefined;

  private constructor(client: TrinoClient, session: Session) {
    this.#client = client;
    this.#session = session;
  }

  /** @param spillUnder folder into which results for a file are spilled if they do not fit into memory. */
  static async open(client: TrinoClient, spillUnder?: string): Promise<TrinoEngine> {
    const options = { threads: 2, memoryLimit: "1GB", ...(spillUnder === undefined ? {} : { spillUnder }) };
    return new TrinoEngine(client, await Session.open(options));
  }

  async run(sql: string): Promise<void> {
    const pages = await this.#pages(sql);
    while ((await pages.next()).done !== true);
  }

  async read(sql: string): Promise<RowReader> {
    return openRows(await this.#pages(sql), (page) => this.#plainRows(page));
  }

  async batches(sql: string): Promise<AsyncGenerator<RecordBatch, void, undefined>> {
    const pages = await this.#pages(sql);
    const first = await pages.next();
    return this.#batches(first.done === true ? undefined : first.value, pages);
  }

  async result(sql: string, values: NamedValues, limit: number): Promise<StatementResult> {
    const all: StatementResult[] = [];
    let rows = 0;
    for await (const page of await this.#pages(withParameters(sql, values))) {
      if (page.updateType !== undefined) continue;
      if (all.length === 0 || (page.rows.length > 0 && rows < limit))
        all.push(
          await this.#inDuckDB(page, (query) =>
            this.#session.result(query, new Map(), Math.max(0, limit - rows)),
          ),
        );
      rows += page.rows.length;
    }
    const columns = (all[0]?.columns ?? []).map((column, index) => ({
      ...column,
      values: all.flatMap((part) => part.columns[index]?.values ?? []),
    }));
    return { columns, rows };
  }

  async value(expression: string, values: NamedValues, text?: string): Promise<TypedValue> {
    for await (const page of await this.#pages(`SELECT (${withParameters(expression, values)}\n)`)) {
      if (page.rows.length === 0) continue;
      return this.#inDuckDB(page, (query) => this.#session.value(`(${query})`, new Map(), text));
    }
    throw new QueryError("the expression has no value", expression);
  }

  async checkReads(): Promise<void> {}

  interrupt(): void {
    this.#running?.abort.abort();
  }

  /** Runs `use` with the result as a temporary table of a DuckDB session, which may spill to disk. */
  async withRows<T>(sql: string, use: (session: Session, query: string) => Promise<T>): Promise<T> {
    await using staged = new TempTable(this.#session, "staged_result");
    let isBegun = false;
    for await (const page of await this.#pages(sql)) {
      if (page.updateType !== undefined || (isBegun && page.rows.length === 0)) continue;
      await this.#inDuckDB(page, async (query) => {
        if (isBegun) await this.#session.run(`INSERT INTO ${staged.name} ${query}`);
        else await staged.fill(query);
      });
      isBegun = true;
    }
    if (!isBegun) throw new QueryError("the statement gives no rows to write", sql);
    return await use(this.#session, `SELECT * FROM ${staged.name}`);
  }

  async close(): Promise<void> {
    await this.#end();
    this.#session.close();
  }

  /** Begins a statement. The previous one is ended, even if its result was not read completely. */
  async #pages(sql: string): Promise<Pages> {
    await this.#end();
    const abort = new AbortController();
    const pages = interruptible(this.#client.pages(sql, abort.signal), abort.signal, sql);
    this.#running = { pages, abort };
    return pages;
  }

  async #end(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await running?.pages.return();
  }

  async *#batches(first: TrinoRows | undefined, rest: Pages): AsyncGenerator<RecordBatch, void, undefined> {
    if (first === undefined) return;
    let [page, isBegun]: [TrinoRows | undefined, boolean] = [first, false];
    while (page !== undefined) {
      const { done, value } = await rest.next();
      const next: TrinoRows | undefined = done === true ? undefined : value;
      // A result without rows is one batch without rows, so that its columns are known.
      if (page.columns.length > 0 && (page.rows.length > 0 || (next === undefined && !isBegun))) {
        isBegun = true;
        yield* await this.#inDuckDB(page, async (query) => {
          const batches: RecordBatch[] = [];
          for await (const batch of await this.#session.batches(query)) batches.push(batch);
          return batches;
        });
      }
      page = next;
    }
  }

  #plainRows(page: TrinoRows): Promise<PlainPage> {
    return this.#inDuckDB(page, async (query) => {
      const rows = await this.#session.read(query);
      const all = await rows.take(page.rows.length);
      return { columns: rows.columns, all };
    });
  }

  /** Runs `use` with a DuckDB query that returns a page's rows in their types. */
  #inDuckDB<T>(page: TrinoRows, use: (query: string) => Promise<T>): Promise<T> {
    return this.#session.withBatch(pageBatch(page), (rows) =>
      use(`SELECT ${selectList(page.columns)} FROM ${rows}`),
    );
  }
}

/** Gives the error of an interrupted statement the same form as in DuckDB. */
async function* interruptible(pages: Pages, signal: AbortSignal, sql: string): Pages {
  try {
    yield* pages;
  } catch (cause) {
    throw signal.aborted ? new QueryError("INTERRUPT Error: Interrupted!", sql, { cause }) : cause;
  }
}

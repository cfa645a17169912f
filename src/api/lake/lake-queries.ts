import type { RecordBatch } from "apache-arrow";
import { RowTable } from "../../arrow/row-table.js";
import { isQueryText } from "../../db/reads/undo-changes.js";
import { interruptOn } from "../../db/session/interrupt-on.js";
import { boundValues } from "../../db/session/query-values.js";
import type { PointInTime } from "../../lake/lake.js";
import type { Reader } from "../../lake/open-reader.js";
import { asksFor } from "../../lake/sql-copy/asks-for.js";
import { expectSame, giveUpCopies } from "../../lake/sql-copy/attach-sql-copy.js";
import type { SqlCopyBuilder } from "../../lake/sql-copy/sql-copy-builder.js";
import type { BoundQuery } from "./table-query.js";
import type { LentReader, WarmReaders } from "./warm-readers.js";

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

  /**
   * The whole result of a query.
   *
   * @param without returns the result if it needs no reader. @default a reader is always needed
   */
  async table<T>(
    state: PointInTime,
    signal: AbortSignal | undefined,
    queryOf: (reader: Reader) => Promise<BoundQuery>,
    without?: () => Promise<RowTable<T> | undefined>,
  ): Promise<RowTable<T>> {
    const use = async (lent: LentReader): Promise<RowTable<T>> => {
      const batches: RecordBatch[] = [];
      const query = await queryOf(lent.reader);
      for await (const batch of batchesOf(lent, query, signal)) batches.push(batch);
      expectSame(lent.reader.copies);
      this.#noteCopies(lent.reader, query);
      return new RowTable<T>(batches);
    };
    for (;;) {
      let isAgain = false;
      const tried = (lent: LentReader): Promise<RowTable<T>> =>
        use(lent).catch((error: unknown) => {
          isAgain = this.#gaveUpCopies(lent, error);
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
      using lent = await this.#readers.lend(state);
      let hasRows = false;
      try {
        for await (const batch of batchesOf(lent, query, signal)) {
          hasRows = true;
          yield batch;
        }
        expectSame(lent.reader.copies);
        this.#noteCopies(lent.reader, query);
        return;
      } catch (error) {
        this.#readers.expectOpen();
        if (!this.#gaveUpCopies(lent, error) || hasRows) throw error;
      }
    }
  }

  /** Has copies built that a query would have used. */
  #noteCopies({ missingCopies }: Reader, { sql, values }: BoundQuery): void {
    for (const file of missingCopies) if (asksFor(file.kind, sql, values)) this.#copies?.note(file);
  }

  /**
   * Gives up copies of a reader where an error may come from them. @returns whether the query may be run again, without
   * these.
   */
  #gaveUpCopies(lent: LentReader, error: unknown): boolean {
    const paths = giveUpCopies(lent.reader.copies, error);
    if (paths.length === 0) return false;
    lent.discard();
    this.#readers.drop(({ copies }) => copies.some(({ file }) => paths.includes(file.path)));
    return true;
  }
}

async function* batchesOf(
  lent: LentReader,
  { sql, values }: BoundQuery,
  signal: AbortSignal | undefined,
): AsyncGenerator<RecordBatch, void, undefined> {
  signal?.throwIfAborted();
  // What a statement creates or sets does not last beyond it: the next statement may get another reader.
  if (!isQueryText(sql)) lent.discard();
  const { session } = lent.reader;
  using _ = interruptOn(session, signal);
  try {
    yield* await session.batches(sql, boundValues(values));
  } catch (error) {
    // The caller aborted: its reason says more than the error of the interrupted statement.
    signal?.throwIfAborted();
    throw error;
  }
}

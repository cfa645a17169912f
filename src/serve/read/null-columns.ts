import { ident, literalList } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { hashInName } from "../../lake/files/data-file.js";
import { rowsOfFiles } from "../../lake/files/prune.js";
import type { Lake } from "../../lake/lake.js";
import type { DataFile, Snapshot } from "../../lake/log/snapshot.js";
import { DUCKDB_TYPE } from "../../schema/column.js";

/** Least number of rows for which footers are read: fewer rows are read quickly in any case. */
const LEAST_ROWS = 4_000_000;
/** Most files whose footers are read. */
const MOST_FILES = 100;

/**
 * Finds columns that have only nulls in all files of a read, such as the open interest of stocks. DuckDB takes a sixth of the
 * time of a read for three of them. The footers of files have the numbers of nulls; the log has them for few columns.
 */
export class NullColumns {
  readonly #lake: Lake;
  readonly #leastRows: number;
  /** Names of the columns without a value, by file. A file never changes. */
  readonly #known = new WeakMap<DataFile, ReadonlySet<string>>();

  constructor(lake: Lake, leastRows = LEAST_ROWS) {
    this.#lake = lake;
    this.#leastRows = leastRows;
  }

  /**
   * The same SELECT, which does not read columns without a value. Footers of other programs are not relied on.
   *
   * @param relation a SELECT of all columns of a table over files.
   */
  async without(
    relation: string,
    session: Session,
    snapshot: Snapshot,
    files: readonly DataFile[],
  ): Promise<string> {
    const nullable = snapshot.columns.filter((column) => column.nullable === true);
    const isWorthwhile =
      nullable.length > 0 &&
      files.length <= MOST_FILES &&
      files.every(({ path }) => hashInName(path) !== undefined) &&
      // Each footer of a store is a request.
      this.#lake.storage.access === undefined &&
      Number.isFinite(rowsOfFiles(files)) &&
      rowsOfFiles(files) >= this.#leastRows;
    if (!isWorthwhile) return relation;
    await this.#read(
      session,
      snapshot,
      files.filter((file) => !this.#known.has(file)),
    );
    const nulls = nullable.filter(({ name }) =>
      files.every((file) => this.#known.get(file)?.has(name) === true),
    );
    if (nulls.length === 0) return relation;
    const replaced = nulls.map(({ name, type }) => `CAST(NULL AS ${DUCKDB_TYPE[type]}) AS ${ident(name)}`);
    return `SELECT * REPLACE (${replaced.join(", ")}) FROM (${relation})`;
  }

  async #read(session: Session, snapshot: Snapshot, files: readonly DataFile[]): Promise<void> {
    if (files.length === 0) return;
    const urls = files.map((file) => this.#lake.urlOf(snapshot, file));
    // A row group without statistics has no number of nulls, so the sum is too small.
    const rows = await session.json<{ url: string; name: string }>(
      `SELECT file_name AS url, path_in_schema AS name FROM parquet_metadata(${literalList(urls)})
       GROUP BY ALL HAVING sum(stats_null_count) = sum(num_values)`,
    );
    for (const [index, file] of files.entries()) {
      const own = rows.filter(({ url }) => url === urls[index]);
      this.#known.set(file, new Set(own.map(({ name }) => name)));
    }
  }
}

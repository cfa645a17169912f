import type { Rows } from "../db/query-engine.js";
import type { PlainValue, ResultColumn } from "../db/result/row-reader.js";
import type { TrinoRows } from "./trino-client.js";

/** The rows of a page as plain values, with their columns. */
export interface PlainPage {
  readonly columns: readonly ResultColumn[];
  readonly all: readonly PlainValue[][];
}

/** Reads a query's rows page by page. A class because it owns the running query. */
export class PagedRows implements Rows {
  readonly columns: readonly ResultColumn[];
  readonly kind: Rows["kind"];
  readonly #pages: AsyncIterator<TrinoRows, void>;
  readonly #plain: (page: TrinoRows) => Promise<PlainPage>;
  #read: PlainValue[][];
  #isAtEnd = false;

  private constructor(
    kind: Rows["kind"],
    first: PlainPage,
    pages: AsyncIterator<TrinoRows, void>,
    plain: (page: TrinoRows) => Promise<PlainPage>,
  ) {
    this.kind = kind;
    this.columns = first.columns;
    this.#read = [...first.all];
    this.#pages = pages;
    this.#plain = plain;
  }

  /** Waits until the columns are known. A statement that is not a query is run to its end. */
  static async open(
    pages: AsyncIterator<TrinoRows, void>,
    plain: (page: TrinoRows) => Promise<PlainPage>,
  ): Promise<PagedRows> {
    let { value: page } = await pages.next();
    if (page === undefined) return new PagedRows("nothing", { columns: [], all: [] }, pages, plain);
    if (page.updateType === undefined) return new PagedRows("rows", await plain(page), pages, plain);
    let changed: number | undefined;
    while (page !== undefined) {
      changed = page.updateCount ?? changed;
      ({ value: page } = await pages.next());
    }
    const isCounted = changed !== undefined;
    const rows = { columns: [], all: isCounted ? [[changed as number]] : [] };
    return new PagedRows(isCounted ? "changes" : "nothing", rows, pages, plain);
  }

  async take(count: number): Promise<PlainValue[][]> {
    while (this.#read.length < count && !this.#isAtEnd) {
      // After a failure the result has no more rows.
      this.#isAtEnd = true;
      const { value: page } = await this.#pages.next();
      this.#isAtEnd = page === undefined;
      // A loop, because a page can have more rows than fit into an argument list.
      if (page !== undefined && page.rows.length > 0)
        for (const row of (await this.#plain(page)).all) this.#read.push(row);
    }
    return this.#read.splice(0, count);
  }

  async hasMore(): Promise<boolean> {
    this.#read = await this.take(Math.max(1, this.#read.length));
    return this.#read.length > 0;
  }
}

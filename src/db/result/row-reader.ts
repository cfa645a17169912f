import type { DuckDBResult, DuckDBValueConverter } from "@duckdb/node-api";
import { DuckDBTypeId, ResultReturnType } from "../../arrow/duckdb-api.js";

/** A column of a result. */
export interface ResultColumn {
  readonly name: string;
  readonly type: string;
}

/** A value for display: int64, decimals, dates, times, lists and structs are DuckDB's text. */
export type PlainValue = null | boolean | number | string;

const plainValue: DuckDBValueConverter<PlainValue> = (value, type) => {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value !== "number") return typeof value === "string" ? value : value.toString();
  if (!Number.isFinite(value)) return String(value);
  return type.typeId === DuckDBTypeId.FLOAT ? shortestFloat(value) : value;
};

/** The number with the fewest digits that has the same 32-bit float. */
function shortestFloat(value: number): number {
  const short = [6, 7, 8].map((digits) => Number(value.toPrecision(digits)));
  return short.find((number) => Math.fround(number) === value) ?? Number(value.toPrecision(9));
}

/** Reads a query's rows while they are computed. */
export class RowReader {
  readonly columns: readonly ResultColumn[];
  /** What the statement gives: rows, the number of rows that it changed, or nothing. */
  readonly kind: "rows" | "changes" | "nothing";
  readonly #result: DuckDBResult;
  readonly #next: (work: () => Promise<PlainValue[][]>) => Promise<PlainValue[][]>;
  #read: PlainValue[][] = [];
  #isAtEnd = false;

  /** @param guard runs every step of the query and translates its errors. */
  constructor(result: DuckDBResult, guard: (work: () => Promise<PlainValue[][]>) => Promise<PlainValue[][]>) {
    this.#result = result;
    this.#next = guard;
    this.columns = result
      .columnNames()
      .map((name, index) => ({ name, type: result.columnType(index).toString() }));
    this.kind =
      result.returnType === ResultReturnType.QUERY_RESULT
        ? "rows"
        : result.returnType === ResultReturnType.CHANGED_ROWS
          ? "changes"
          : "nothing";
  }

  /** The next rows, fewer than `count` only at the end. @throws {QueryError} */
  async take(count: number): Promise<PlainValue[][]> {
    while (this.#read.length < count && !this.#isAtEnd) {
      // A result that failed has no more rows.
      this.#isAtEnd = true;
      const rows = await this.#next(() => this.#chunk());
      this.#isAtEnd = rows.length === 0;
      this.#read.push(...rows);
    }
    return this.#read.splice(0, count);
  }

  /** Whether there are more rows; computes the next ones to find out. @throws {QueryError} */
  async hasMore(): Promise<boolean> {
    this.#read = await this.take(Math.max(1, this.#read.length));
    return this.#read.length > 0;
  }

  async #chunk(): Promise<PlainValue[][]> {
    const chunk = await this.#result.fetchChunk();
    return chunk === null ? [] : chunk.convertRows<PlainValue>(plainValue);
  }
}

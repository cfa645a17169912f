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

/** Reads rows while they are computed. */
export class RowReader {
  readonly columns: readonly ResultColumn[];
  /** What the statement gives: rows, the number of rows that it changed, or nothing. */
  readonly kind: "rows" | "changes" | "nothing";
  readonly #next: () => Promise<readonly PlainValue[][] | undefined>;
  #read: PlainValue[][];
  #isAtEnd = false;

  /** @param next the rows after those that were read; undefined at the end. */
  constructor(
    { columns, kind }: Pick<RowReader, "columns" | "kind">,
    next: () => Promise<readonly PlainValue[][] | undefined>,
    read: readonly PlainValue[][] = [],
  ) {
    this.columns = columns;
    this.kind = kind;
    this.#next = next;
    this.#read = [...read];
  }

  /** The next rows, fewer than `count` only at the end. @throws {QueryError} */
  async take(count: number): Promise<PlainValue[][]> {
    while (this.#read.length < count && !this.#isAtEnd) {
      // A result that failed has no more rows.
      this.#isAtEnd = true;
      const rows = await this.#next();
      this.#isAtEnd = rows === undefined;
      // A loop, because there can be more rows than fit into an argument list.
      for (const row of rows ?? []) this.#read.push(row);
    }
    return this.#read.splice(0, count);
  }

  /** Whether there are more rows; computes the next ones to find out. @throws {QueryError} */
  async hasMore(): Promise<boolean> {
    this.#read = await this.take(Math.max(1, this.#read.length));
    return this.#read.length > 0;
  }
}

/** Reads a query's rows. @param guard runs every step of the query and translates its errors. */
export function resultReader(
  result: DuckDBResult,
  guard: (work: () => Promise<PlainValue[][] | undefined>) => Promise<PlainValue[][] | undefined>,
): RowReader {
  const columns = result
    .columnNames()
    .map((name, index) => ({ name, type: result.columnType(index).toString() }));
  const kind =
    result.returnType === ResultReturnType.QUERY_RESULT
      ? "rows"
      : result.returnType === ResultReturnType.CHANGED_ROWS
        ? "changes"
        : "nothing";
  return new RowReader({ columns, kind }, () =>
    guard(async () => {
      const chunk = await result.fetchChunk();
      return chunk === null || chunk.rowCount === 0 ? undefined : chunk.convertRows<PlainValue>(plainValue);
    }),
  );
}

import { join } from "node:path";
import { hashOf } from "../../db/views/raw-view.js";
import { BARS_1D } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { BALANCE_SHEET, CASH_FLOW, INCOME, METRICS, SHARES } from "../../schema/statements.js";
import { TRADING_DAYS } from "../../schema/trading-days.js";
import { hashInName } from "../files/data-file.js";
import type { Snapshot } from "../log/snapshot.js";
import type { SegmentPlace } from "../segments/segment-folder.js";

/** The name of the attached database of the copy within a session. */
export const COPY = "barlake_copy";

/** With fewer daily bars than this, a query of the Parquet files takes no longer than one of a copy. */
const LEAST_ROWS = 200_000;

/** A view whose rows are in the copy, because computing them takes longer than using them. */
export interface CopiedView {
  readonly schema: "main" | "raw";
  readonly name: string;
  /** The order of its rows, so that a query of one symbol reads few of them. */
  readonly order: string;
}

/**
 * The table whose rows are in the copy. Minute bars of many symbols would take more space than everything else on the
 * disk.
 */
export const COPIED_TABLE: TableSchema = BARS_1D;

const STATEMENTS = [BALANCE_SHEET, CASH_FLOW, INCOME, METRICS, SHARES];

export const COPIED_VIEWS: readonly CopiedView[] = [
  { schema: "main", name: "ex_events", order: "symbol, ex_date" },
  { schema: "main", name: "price_stretches", order: "symbol, start_date" },
  ...STATEMENTS.map(({ name }) => ({
    schema: "raw" as const,
    name: `known_${name}`,
    order: "symbol, known_from",
  })),
];

/** The tables from which the copied rows are derived. */
export const SOURCES: readonly TableSchema[] = [COPIED_TABLE, TRADING_DAYS, ...STATEMENTS];

/** The copy for SQL of one state of a lake. */
export interface SqlCopyFile {
  readonly path: string;
  /** A hash of what the copy is made from. The copy of any other state, or with other views, has another hash. */
  readonly key: string;
  /** The number of daily bars. */
  readonly rows: number;
}

/**
 * Where the copy for SQL of a state of a lake is, or will be once it is built.
 *
 * @param views a text that identifies the definitions of all views.
 * @returns undefined where the state has no copy: for a table that cannot be read, files of other programs, or few
 *   bars.
 */
export function sqlCopyFile(
  snapshots: readonly Snapshot[],
  { folder, copyFrom = LEAST_ROWS }: SegmentPlace,
  views: string,
): SqlCopyFile | undefined {
  const sources = SOURCES.flatMap(({ name }) => snapshots.filter(({ table }) => table.name === name));
  if (sources.length < SOURCES.length) return undefined;
  const files = sources.flatMap((snapshot) => [...snapshot.files.values()]);
  // Only names of files of this program contain a hash of the content. Another program may write other rows to the same
  // name.
  if (files.some(({ path }) => hashInName(path) === undefined)) return undefined;
  const rows = [...(sources[0]?.files.values() ?? [])].reduce(
    (sum, { stats }) => sum + (stats?.numRecords ?? 0),
    0,
  );
  if (rows < copyFrom) return undefined;
  const texts = sources.map(({ table, columns, files: own }) =>
    JSON.stringify([table.name, columns, [...own.keys()].sort()]),
  );
  const key = hashOf([views, ...texts]);
  return { path: join(folder, "sql", `${key}.duckdb`), key, rows };
}

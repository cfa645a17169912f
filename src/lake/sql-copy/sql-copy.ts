import { join } from "node:path";
import { hashOf } from "../../db/views/raw-view.js";
import { BARS_1D } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { BALANCE_SHEET, CASH_FLOW, INCOME, METRICS, SHARES } from "../../schema/statements.js";
import { TRADING_DAYS } from "../../schema/trading-days.js";
import { hashInName } from "../files/data-file.js";
import type { Snapshot } from "../log/snapshot.js";
import type { SegmentPlace } from "../segments/segment-folder.js";

/** The database of the copy within a session. */
export const COPY = "barlake_copy";

/** With fewer daily bars, a question to the Parquet files takes no longer. */
const LEAST_ROWS = 200_000;

/** A view whose rows the copy has, because computing them takes longer than using them. */
export interface CopiedView {
  readonly schema: "main" | "raw";
  readonly name: string;
  /** The order of its rows, so that a question about a symbol reads few of them. */
  readonly order: string;
}

/** The table whose rows the copy has; minutes of many symbols would be larger than everything else on the disk. */
export const COPIED_TABLE: TableSchema = BARS_1D;

const STATEMENTS = [BALANCE_SHEET, CASH_FLOW, INCOME, METRICS, SHARES];

export const COPIED_VIEWS: readonly CopiedView[] = [
  { schema: "main", name: "ex_events", order: "symbol, ex_date" },
  ...STATEMENTS.map(({ name }) => ({
    schema: "raw" as const,
    name: `known_${name}`,
    order: "symbol, known_from",
  })),
];

/** What the copied rows follow from. */
export const SOURCES: readonly TableSchema[] = [COPIED_TABLE, TRADING_DAYS, ...STATEMENTS];

/** The copy of one state of a lake. */
export interface SqlCopyFile {
  readonly path: string;
  /** What it is made of, as a hash: the copy of any other state, or of other views, has another one. */
  readonly key: string;
  /** Daily bars. */
  readonly rows: number;
}

/**
 * Where the copy of a state of a lake is, if it has one.
 *
 * @param views the text that all views follow from.
 * @returns undefined where there is no copy: for a table that cannot be read, files of other programs, or few bars.
 */
export function sqlCopyFile(
  snapshots: readonly Snapshot[],
  { folder, copyFrom = LEAST_ROWS }: SegmentPlace,
  views: string,
): SqlCopyFile | undefined {
  const sources = SOURCES.flatMap(({ name }) => snapshots.filter(({ table }) => table.name === name));
  if (sources.length < SOURCES.length) return undefined;
  const files = sources.flatMap((snapshot) => [...snapshot.files.values()]);
  // The name of a file of this program has the hash of its content: another program may write other rows to the same name.
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

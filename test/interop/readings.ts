import { join } from "node:path";
import { ident, literal } from "../../src/db/quote.js";
import type { Session } from "../../src/db/session/session.js";
import { parquetRelation } from "../../src/db/views/parquet-relation.js";
import type { Lake } from "../../src/lake/lake.js";
import type { Snapshot } from "../../src/lake/log/snapshot.js";
import { BARS_1D } from "../../src/schema/bars.js";
import type { Column, ColumnType } from "../../src/schema/column.js";

/** What one engine finds in one version of one table. */
export interface Reading {
  readonly version: number;
  /** Types as {@link ColumnType}, by name. */
  readonly columns: Readonly<Record<string, ColumnType>>;
  /**
   * Rows in any order, values in the order of the columns: numbers, booleans, texts and lists as JSON has them; int64 as
   * text, timestamps as text of microseconds since 1970, dates as `YYYY-MM-DD`.
   */
  readonly rows: readonly (readonly unknown[])[];
}

/** What an engine is to read. */
export interface Demand {
  /** Folder of the table. */
  readonly path: string;
  readonly version: number;
  /** Only this symbol's rows: a reader may leave out files by the log's statistics. @default all */
  readonly symbol?: string;
  /** Only rows from this instant on, ISO text with an offset. @default all */
  readonly since?: string;
}

/** What is asked of an engine, and what barlake finds. */
export interface Question {
  readonly wanted: Demand;
  readonly ours: Reading;
}

/** A reading with its rows as text, sorted: equal for equal tables. */
export function comparable({ version, columns, rows }: Reading): object {
  return { version, columns, rows: rows.map((row) => JSON.stringify(row)).sort() };
}

/** What barlake itself finds, in a whole table or in some of its rows. */
async function readingOf(
  session: Session,
  lake: Lake,
  snapshot: Snapshot,
  { symbol, since }: Pick<Demand, "symbol" | "since"> = {},
): Promise<Reading> {
  const { version, columns } = snapshot;
  const relation = await parquetRelation(session, lake.filesOf(snapshot));
  const where = [
    ...(symbol === undefined ? [] : [`symbol = ${literal(symbol)}`]),
    ...(since === undefined ? [] : [`timestamp >= TIMESTAMPTZ ${literal(since)}`]),
  ];
  const found = await session.json(
    `SELECT ${columns.map((column) => `${valueSql(column)} AS ${ident(column.name)}`).join(", ")}
     FROM (SELECT * FROM (${relation}) ${where.length === 0 ? "" : `WHERE ${where.join(" AND ")}`})`,
  );
  return {
    version,
    columns: Object.fromEntries(columns.map(({ name, type }) => [name, type])),
    rows: found.map((row) => columns.map(({ name }) => row[name])),
  };
}

/** Questions after the versions of a lake's tables that are worth a look. */
export async function questionsOf(
  session: Session,
  lake: Lake,
  options: QuestionOptions = {},
): Promise<Question[]> {
  const questions: Question[] = [];
  for (const newest of await lake.snapshots()) {
    const { table } = newest;
    const oldest = options.oldest?.(table.name) ?? 0;
    for (const version of versionsBetween(oldest, newest.version)) {
      const snapshot = await lake.snapshotAt(table, { versions: new Map([[table.name, version]]) });
      const wanted = { path: join(lake.location, table.name), version };
      questions.push({ wanted, ours: await readingOf(session, lake, snapshot) });
    }
    for (const filter of table === BARS_1D ? (options.filters ?? []) : []) {
      const wanted = { path: join(lake.location, table.name), version: newest.version, ...filter };
      questions.push({ wanted, ours: await readingOf(session, lake, newest, filter) });
    }
  }
  return questions;
}

export interface QuestionOptions {
  /** The oldest version of a table that its log still has. @default 0 */
  readonly oldest?: (table: string) => number;
  /** Conditions on the newest daily bars, each a separate question. @default none */
  readonly filters?: readonly Pick<Demand, "symbol" | "since">[];
}

/** All of few versions; of many those at both ends, around the first checkpoint, and one between. */
function versionsBetween(oldest: number, newest: number): number[] {
  const all = Array.from({ length: newest - oldest + 1 }, (_, index) => oldest + index);
  const isNotable = (n: number): boolean => n < 2 || n > newest - 4 || (n > 48 && n < 52) || n === 25;
  return all.length < 16 ? all : all.filter(isNotable);
}

function valueSql({ name, type }: Column): string {
  const column = ident(name);
  if (type === "timestamp") return `CAST(epoch_us(${column}) AS VARCHAR)`;
  return type === "int64" || type === "date" ? `CAST(${column} AS VARCHAR)` : column;
}

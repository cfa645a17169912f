import type { Issue } from "../../core/issue.js";
import { ident, literal } from "../../db/quote.js";
import { countRows } from "../../db/session/count-rows.js";
import { jsonParameter } from "../../db/session/named-values.js";
import { type Bindings, type Session, TempTable } from "../../db/session/session.js";
import type { Lake } from "../lake.js";
import type { LakePlaces } from "../local/work-folder.js";

/** The folder of the lake for rejects, relative to the lake. */
export const REJECTS_FOLDER = "rejects";

/** Columns of the rejects: what was set aside, where it came from, and why. */
const COLUMNS = {
  run_id: "VARCHAR",
  dataset: "VARCHAR",
  source: "VARCHAR",
  line: "BIGINT",
  symbol: "VARCHAR",
  timestamp: "VARCHAR",
  rule: "VARCHAR",
  reason: "VARCHAR",
  bars: "BIGINT",
  row: "JSON",
} as const;

/** A reason for which rows were set aside, and how many. */
export interface RejectCount {
  readonly rule: string;
  readonly reason: string;
  readonly source: string;
  readonly line: number | null;
  /** How many bars or records were set aside; 0 for a remark about rows that landed. */
  readonly rows: number;
}

/** Rules that set aside only repeats of rows that landed, rows that were not requested, or bars that state no trade. */
const NOTHING_LOST: ReadonlySet<string> = new Set([
  "duplicate_key",
  "no_trade",
  "unsorted",
  "not_requested",
  "bad_symbol",
  "outside_window",
]);

/** Whether requested rows were set aside, and are therefore missing in the lake. */
export function isLoss({ rule, rows }: Pick<RejectCount, "rule" | "rows">): boolean {
  return rows > 0 && !NOTHING_LOST.has(rule);
}

/** DuckDB's type for the issues of a response as JSON: rows of the rejects without their run and dataset. */
const ISSUE_ROWS =
  '[{"source":"VARCHAR","symbol":"VARCHAR","line":"BIGINT","rule":"VARCHAR","reason":"VARCHAR","bars":"BIGINT","row":"VARCHAR"}]';

/**
 * What a run sets aside, with the reasons. The rows are collected in a temporary table of the run's session;
 * {@link save} writes them to the lake.
 */
export class Rejects implements AsyncDisposable {
  readonly #session: Session;
  readonly #runId: string;
  readonly #name: string;
  readonly #table: TempTable;
  #created: Promise<void> | undefined;

  /** Creates no table yet. @param name names the file of the rejects in the lake. @default the run */
  constructor(session: Session, runId: string, name: string = runId) {
    this.#session = session;
    this.#runId = runId;
    this.#name = name;
    this.#table = new TempTable(session, "rejects");
  }

  /**
   * Adds the rows of a query: its columns are those of the rejects except `run_id` and `dataset`. Without the column
   * `bars` each row counts as one bar or record.
   */
  async add(dataset: string, rowsSql: string): Promise<void> {
    await this.#insert(this.#runId, dataset, rowsSql);
  }

  /** Changes the collected rows, if there are any. @param change is given the name of their table. */
  async amend(change: (table: string) => Promise<void>): Promise<void> {
    if (this.#created === undefined) return;
    await this.#created;
    await change(this.#table.name);
  }

  /** Adds the issues of a decoded response. @param from.runId the run that received the response. */
  async addIssues(
    from: { readonly runId: string; readonly dataset: string; readonly source: string },
    issues: readonly Issue[],
  ): Promise<void> {
    if (issues.length === 0) return;
    const rows = issues.map(({ rule, message, symbol, column, index, byteOffset, rejected }) => ({
      bars: rejected,
      source: from.source,
      symbol,
      line: index,
      rule,
      reason: message,
      row: jsonParameter({ column, index, byteOffset, rejected }),
    }));
    const rowsSql = `SELECT r.* REPLACE (CAST(r.row AS JSON) AS row)
      FROM (SELECT unnest(from_json($1, ${literal(ISSUE_ROWS)})) AS r)`;
    await this.#insert(from.runId, from.dataset, rowsSql, [jsonParameter(rows)]);
  }

  /**
   * Writes the rows to `rejects/` in the lake, if there are any, and empties the table.
   *
   * @param options.isNew whether to write only rows that are not among the lake's rejects yet. @default false
   * @returns the number of rows by reason, the most frequent first.
   */
  async save(lake: Lake, { isNew = false }: { readonly isNew?: boolean } = {}): Promise<RejectCount[]> {
    if (this.#created === undefined) return [];
    const session = this.#session;
    const { name } = this.#table;
    const counts = await session.json<Omit<RejectCount, "rows"> & { rows: bigint }>(
      `SELECT rule, any_value(reason ORDER BY line, reason) AS reason, source, min(line)::DOUBLE AS line, sum(coalesce(bars, 1))::BIGINT AS rows
       FROM ${name} GROUP BY rule, source ORDER BY rows DESC, source, rule`,
    );
    if (isNew && counts.length > 0) await deleteSaved(session, lake, name);
    if ((await countRows(session, name)) > 0)
      await writeRejects(session, lake, name, `${REJECTS_FOLDER}/${this.#name}.ndjson`);
    await this.#table.drop();
    this.#created = undefined;
    return counts.map((count) => ({ ...count, rows: Number(count.rows) }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#table[Symbol.asyncDispose]();
  }

  async #insert(runId: string, dataset: string, rowsSql: string, bindings?: Bindings): Promise<void> {
    const columns = Object.entries(COLUMNS).map(([name, type]) => `${ident(name)} ${type}`);
    this.#created ??= this.#table.define(columns.join(", "));
    await this.#created;
    await this.#session.run(
      `INSERT INTO ${this.#table.name} BY NAME
       SELECT ${literal(runId)} AS run_id, ${literal(dataset)} AS dataset, * FROM (${rowsSql})`,
      bindings,
    );
  }
}

async function writeRejects(
  session: Session,
  { storage, work }: LakePlaces,
  table: string,
  path: string,
): Promise<void> {
  const written = await work.newFile("ndjson");
  const columns = Object.keys(COLUMNS).map(ident).join(", ");
  try {
    await session.run(
      `COPY (SELECT ${columns} FROM ${table} ORDER BY dataset, source, line) TO ${literal(written)} (FORMAT json)`,
    );
    await storage.putFileIfAbsent(written, path);
  } finally {
    await work.discard(written);
  }
}

/**
 * Deletes from a table the rows that are already among the lake's rejects: the same row of the same source, for the
 * same reason.
 */
async function deleteSaved(session: Session, lake: Lake, table: string): Promise<void> {
  const names = Object.keys(COLUMNS).filter((name) => name !== "run_id");
  const identity = (from: string): string =>
    names.map((name) => `coalesce(CAST(${from}.${ident(name)} AS VARCHAR), '')`).join(" || chr(0) || ");
  await session.run(
    `DELETE FROM ${table} AS r WHERE ${identity("r")} IN (SELECT ${identity("k")} FROM (${await rejectsSql(lake)}) AS k)`,
  );
}

/** A query of all rejects of a lake; it has no rows where the lake has no rejects. */
export async function rejectsSql(lake: Lake): Promise<string> {
  const names = (await lake.storage.list(REJECTS_FOLDER)).filter((name) => name.endsWith(".ndjson"));
  const types = Object.entries(COLUMNS).map(([name, type]) => `${literal(name)}: ${literal(type)}`);
  if (names.length === 0) return noRejectsSql();
  const urls = names.map((name) => literal(lake.storage.urlOf(`${REJECTS_FOLDER}/${name}`)));
  return `SELECT * FROM read_json([${urls.join(", ")}], format = 'newline_delimited', columns = {${types.join(", ")}})`;
}

/** A query with the columns of the rejects, and without rows. */
export function noRejectsSql(): string {
  const nulls = Object.entries(COLUMNS).map(([name, type]) => `CAST(NULL AS ${type}) AS ${ident(name)}`);
  return `SELECT ${nulls.join(", ")} WHERE false`;
}

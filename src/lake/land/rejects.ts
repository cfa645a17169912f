import type { Issue } from "../../core/issue.js";
import { ident, literal } from "../../db/quote.js";
import type { Session } from "../../db/session.js";
import type { Lake } from "../lake.js";
import type { LakePlaces } from "../local/work-folder.js";

/** The folder of the lake for rejects. */
const FOLDER = "rejects";

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
  /** How many bars or records were set aside; 0 where it is only a remark. */
  readonly rows: number;
}

/** Rules that set aside only repeats of rows that landed, or rows that were not requested. */
const NOTHING_LOST: ReadonlySet<string> = new Set([
  "duplicate_key",
  "unsorted",
  "not_requested",
  "bad_symbol",
  "outside_window",
]);

/** Whether requested rows were set aside, and are therefore missing in the lake. */
export function isLoss({ rule, rows }: Pick<RejectCount, "rule" | "rows">): boolean {
  return rows > 0 && !NOTHING_LOST.has(rule);
}

const TABLE = "rejected";

/** Creates or empties the session's list of rejects. */
export async function openRejects(session: Session): Promise<void> {
  const columns = Object.entries(COLUMNS).map(([name, type]) => `${ident(name)} ${type}`);
  await session.run(
    `CREATE OR REPLACE TEMP TABLE ${TABLE} (${columns.join(", ")}, run_order BIGINT DEFAULT 0)`,
  );
}

/**
 * Adds the rows of a query to the list: its columns are those of the rejects except `run_id` and `dataset`. Without the
 * column `bars` each row counts as one bar or record.
 */
export async function rejectRows(
  session: Session,
  runId: string,
  dataset: string,
  rowsSql: string,
): Promise<void> {
  await session.run(
    `INSERT INTO ${TABLE} BY NAME SELECT ${literal(runId)} AS run_id, ${literal(dataset)} AS dataset, * FROM (${rowsSql})`,
  );
}

/** Adds the issues of a decoded response to the list. */
export async function rejectIssues(
  session: Session,
  runId: string,
  dataset: string,
  source: string,
  issues: readonly Issue[],
): Promise<void> {
  if (issues.length === 0) return;
  const rows = issues.map(({ rule, message, symbol, column, index, byteOffset, rejected }) => ({
    bars: rejected,
    source,
    symbol,
    line: index,
    rule,
    reason: message,
    row: JSON.stringify({ column, index, byteOffset, rejected }),
  }));
  const structure =
    '[{"source":"VARCHAR","symbol":"VARCHAR","line":"BIGINT","rule":"VARCHAR","reason":"VARCHAR","bars":"BIGINT","row":"VARCHAR"}]';
  await session.run(
    `INSERT INTO ${TABLE} BY NAME
     SELECT ${literal(runId)} AS run_id, ${literal(dataset)} AS dataset, r.* REPLACE (CAST(r.row AS JSON) AS row)
     FROM (SELECT unnest(from_json($1, ${literal(structure)})) AS r)`,
    [JSON.stringify(rows)],
  );
}

/**
 * Writes the list to `rejects/` in the lake, if it has rows, and returns its counts, most frequent first.
 *
 * @param options.isNew whether to write only rows that are not among the lake's rejects yet. @default false
 */
export async function saveRejects(
  session: Session,
  lake: Lake,
  runId: string,
  { isNew = false }: { readonly isNew?: boolean } = {},
): Promise<RejectCount[]> {
  const counts = await session.json<Omit<RejectCount, "rows"> & { rows: bigint }>(
    `SELECT rule, any_value(reason ORDER BY line) AS reason, source, min(line)::DOUBLE AS line, sum(coalesce(bars, 1))::BIGINT AS rows
     FROM ${TABLE} GROUP BY rule, source ORDER BY rows DESC, source`,
  );
  if (counts.length === 0) return [];
  if (isNew) await dropKept(session, lake);
  const [left] = await session.json<{ n: number }>(`SELECT count(*)::DOUBLE AS n FROM ${TABLE}`);
  if ((left?.n ?? 0) > 0) {
    await writeRejects(session, lake, `${FOLDER}/${runId}.ndjson`);
    await openRejects(session);
  }
  return counts.map((count) => ({ ...count, rows: Number(count.rows) }));
}

async function writeRejects(session: Session, { storage, work }: LakePlaces, path: string): Promise<void> {
  const written = await work.newFile("ndjson");
  const columns = Object.keys(COLUMNS).map(ident).join(", ");
  try {
    await session.run(
      `COPY (SELECT ${columns} FROM ${TABLE} ORDER BY dataset, source, line) TO ${literal(written)} (FORMAT json)`,
    );
    await storage.putFileIfAbsent(written, path);
  } finally {
    await work.discard(written);
  }
}

/**
 * Removes from the list what is already among the lake's rejects: the same row of the same source, for the same reason.
 */
async function dropKept(session: Session, lake: Lake): Promise<void> {
  const names = Object.keys(COLUMNS).filter((name) => name !== "run_id");
  const identity = (from: string): string =>
    names.map((name) => `coalesce(CAST(${from}.${ident(name)} AS VARCHAR), '')`).join(" || chr(0) || ");
  await session.run(
    `DELETE FROM ${TABLE} AS r WHERE ${identity("r")} IN (SELECT ${identity("k")} FROM (${await rejectsSql(lake)}) AS k)`,
  );
}

/** A query of all rejects of a lake; it has no rows where there are none. */
export async function rejectsSql(lake: Lake): Promise<string> {
  const names = (await lake.storage.list(FOLDER)).filter((name) => name.endsWith(".ndjson"));
  const types = Object.entries(COLUMNS).map(([name, type]) => `${literal(name)}: ${literal(type)}`);
  if (names.length === 0) return noRejectsSql();
  const urls = names.map((name) => literal(lake.storage.urlOf(`${FOLDER}/${name}`)));
  return `SELECT * FROM read_json([${urls.join(", ")}], format = 'newline_delimited', columns = {${types.join(", ")}})`;
}

/** A query with the columns of the rejects, and without rows. */
export function noRejectsSql(): string {
  const nulls = Object.entries(COLUMNS).map(([name, type]) => `CAST(NULL AS ${type}) AS ${ident(name)}`);
  return `SELECT ${nulls.join(", ")} WHERE false`;
}

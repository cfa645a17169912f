import { StatementType } from "../../arrow/duckdb-api.js";
import { QueryError } from "../../core/errors.js";
import type { QueryEngine } from "../../db/query-engine.js";
import { literal, literalList } from "../../db/quote.js";
import type { StatementCheck } from "../../db/session/named-values.js";
import type { Session } from "../../db/session/session.js";
import { isOneStatement, type SqlToken, sqlTokens } from "../../db/sql-tokens.js";
import { NO_ROWS } from "../../db/views/parquet-relation.js";
import { isOutside, type Lake, type PointInTime } from "../../lake/lake.js";
import { REJECTS_FOLDER } from "../../lake/land/rejects.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import { openReader, type Reader } from "../../lake/open-reader.js";
import { NARROWER, type SessionLimits } from "./session-limits.js";

/** Words that a statement may begin with: queries, and changes of data that is only in the memory of the session. */
const FIRST_WORDS: ReadonlySet<string> = new Set([
  "alter",
  "create",
  "delete",
  "describe",
  "desc",
  "drop",
  "explain",
  "from",
  "insert",
  "pivot",
  "pivot_longer",
  "pivot_wider",
  "select",
  "show",
  "summarize",
  "table",
  "unpivot",
  "update",
  "values",
  "with",
]);

const FOREIGN_BLANK = /[^\t-\r ]/;

/** Words that may be between EXPLAIN and the explained statement. */
const EXPLAIN_WORDS: ReadonlySet<string> = new Set(["analyze", "analyse", "verbose"]);

/**
 * Functions that a query could call, but that do more than read the lake: they write logs to a file of any permitted
 * folder, stop the log by which files are verified, show how the lake's store is accessed, read memory by its address,
 * or choose another parser, which {@link sqlTokens} does not follow. `query` and `json_execute_serialized_sql` run a
 * text in which they could be hidden.
 */
const FORBIDDEN_FUNCTIONS: ReadonlySet<string> = new Set([
  "arrow_scan",
  "arrow_scan_dumb",
  "batch_scan",
  "check_peg_parser",
  "checkpoint",
  "disable_logging",
  "disable_peg_parser",
  "disable_profile",
  "disable_profiling",
  "duckdb_secrets",
  "enable_logging",
  "enable_peg_parser",
  "enable_profile",
  "enable_profiling",
  "force_checkpoint",
  "json_execute_serialized_sql",
  "query",
  "truncate_duckdb_logs",
  "which_secret",
  "write_log",
]);

/**
 * The types of statements that DuckDB may find in a text. For EXPLAIN, CREATE and DROP, {@link forbiddenBy} judges the
 * details.
 */
const PERMITTED_TYPES: ReadonlySet<StatementType> = new Set([
  StatementType.ALTER,
  StatementType.CREATE,
  StatementType.CREATE_FUNC,
  StatementType.DELETE,
  StatementType.DROP,
  StatementType.EXPLAIN,
  StatementType.INSERT,
  StatementType.SELECT,
  StatementType.SET,
  StatementType.UPDATE,
  StatementType.VARIABLE_SET,
]);

/** Refuses a text that DuckDB parses as another statement than {@link forbiddenBy} did. @throws {QueryError} */
const expectPermitted: StatementCheck = ({ type, count, sql }) => {
  // DuckDB turns a PIVOT alone into two statements.
  const isOne = count === 1 || sqlTokens(sql).some((token) => /^pivot/i.test(token.text));
  if (isOne && PERMITTED_TYPES.has(type)) return;
  throw new QueryError("this statement is not permitted: the workspace only reads the lake", sql);
};

/**
 * Why a statement may not run in the workspace, which only reads. DuckDB permits writes wherever it permits reads, so
 * COPY, EXPORT and ATTACH could change the lake itself. Objects that a statement creates in memory end with its
 * session.
 *
 * @returns undefined where the statement may run.
 */
export function forbiddenBy(sql: string): string | undefined {
  const all = sqlTokens(sql);
  // DuckDB replaces these characters by blanks, and for that it finds quotes in another way than its scanner does.
  const blank = all
    .map(({ kind, text }) => (kind === "blank" ? FOREIGN_BLANK.exec(text)?.[0] : undefined))
    .find(Boolean);
  if (blank !== undefined)
    return `the blank U+${blank.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")} is not permitted in SQL: write a plain one`;
  const tokens = all.filter(({ kind }) => kind !== "blank" && kind !== "comment");
  // Of several statements only the first would be judged.
  if (!isOneStatement(sql)) return "there are several statements where one is permitted";
  const first = firstWord(tokens);
  if (first !== undefined && !FIRST_WORDS.has(first))
    return `${first.toUpperCase()} is not permitted: the workspace only reads the lake`;
  const name = tokens.map(nameOf).find((word, at) => {
    return word !== undefined && FORBIDDEN_FUNCTIONS.has(word) && tokens[at + 1]?.text === "(";
  });
  return name === undefined ? undefined : `the function ${name} is not permitted in the workspace`;
}

/** The word that defines what a statement does; undefined for SET VARIABLE, and where there is none. */
function firstWord(tokens: readonly SqlToken[]): string | undefined {
  let at = 0;
  while (tokens[at]?.text === "(") at++;
  const word = tokens[at]?.text.toLowerCase();
  const second = tokens[at + 1]?.text.toLowerCase();
  if ((word === "set" || word === "reset") && second === "variable") return undefined;
  if ((word === "create" || word === "drop") && hasSecret(tokens.slice(at + 1, at + 6)))
    return `${word} secret`;
  if (word === "update" && second === "extensions") return "update extensions";
  if (word !== "explain") return word;
  let rest = tokens.slice(at + 1);
  while (rest[0] !== undefined && EXPLAIN_WORDS.has(rest[0].text.toLowerCase())) rest = rest.slice(1);
  if (rest[0]?.text === "(") {
    // After EXPLAIN, parentheses contain options or a query. The statement follows the options, or is within the
    // parentheses.
    const end = rest.findIndex(({ text }) => text === ")");
    const inner = rest[1]?.text.toLowerCase() ?? "";
    if (!FIRST_WORDS.has(inner) && end > 0) rest = rest.slice(end + 1);
  }
  return firstWord(rest) ?? "select";
}

function hasSecret(tokens: readonly SqlToken[]): boolean {
  return tokens.some(({ kind, text }) => kind === "word" && text.toLowerCase() === "secret");
}

function nameOf({ kind, text }: SqlToken): string | undefined {
  if (kind === "word") return text.toLowerCase();
  return kind === "identifier" ? text.slice(1, -1).replaceAll('""', '"').toLowerCase() : undefined;
}

/** Most data that one session may spill to disk. */
const MOST_SPILLED = "2GB";

/**
 * Locks a session after its views were created. From now on, its statements can read only the data files of the lake's
 * tables and the rejects. They cannot read other files of the machine, load an extension, or change a setting back.
 */
async function lockSession(
  session: Session,
  lake: Lake,
  snapshots: readonly Snapshot[],
  hasSettings: boolean,
): Promise<void> {
  const names = [...snapshots.map(({ table }) => table.name), REJECTS_FOLDER];
  const folders = names.map((name) => `${lake.storage.urlOf(name)}/`);
  const outside = snapshots.flatMap((snapshot) =>
    [...snapshot.files.values()]
      .filter(({ path }) => isOutside(path))
      .map((file) => lake.urlOf(snapshot, file)),
  );
  for (const setting of [
    `allowed_directories = ${literalList(folders)}`,
    `allowed_paths = ${literalList([NO_ROWS, ...outside])}`,
    `max_temp_directory_size = ${literal(MOST_SPILLED)}`,
    "enable_external_access = false",
    ...(hasSettings ? [] : ["lock_configuration = true"]),
  ])
    await session.run(`SET ${setting}`);
  session.statementCheck = expectPermitted;
}

interface LockOptions {
  /** The folder in which it makes its folder of spilled data. @default as `openReader` */
  readonly spillUnder?: string | undefined;
  /** Whether other settings than the access to files can still be changed. @default false */
  readonly hasSettings?: boolean;
}

export async function openLocked(
  lake: Lake,
  { memoryLimit, threads }: Required<SessionLimits>,
  pointInTime: PointInTime,
  { spillUnder, hasSettings = false }: LockOptions = {},
): Promise<Reader> {
  const options = { memoryLimit, threads, ...(spillUnder === undefined ? {} : { spillUnder }) };
  const reader = await openReader(lake, options, pointInTime);
  try {
    await lockSession(reader.session, lake, reader.snapshots, hasSettings);
    return reader;
  } catch (error) {
    reader[Symbol.dispose]();
    throw error;
  }
}

/** An engine that refuses statements that do more than read, before they run: see {@link forbiddenBy}. */
export function sandboxedEngine(engine: QueryEngine): QueryEngine {
  const checked = <T>(sql: string, run: () => Promise<T>): Promise<T> => {
    const reason = forbiddenBy(sql);
    if (reason === undefined) return run().catch((error: unknown) => Promise.reject(withOwnHint(error)));
    const hint = "barlake sql runs it, with the rights of the user who starts it";
    return Promise.reject(new QueryError(reason, sql, { hint }));
  };
  return {
    run: (sql) => checked(sql, () => engine.run(sql)),
    read: (sql) => checked(sql, () => engine.read(sql)),
    batches: (sql) => checked(sql, () => engine.batches(sql)),
    result: (sql, values, limit) => checked(sql, () => engine.result(sql, values, limit)),
    // The text is the value of a parameter. The expression becomes part of a query that begins with SELECT.
    value: (expression, values, text) =>
      checked(`SELECT (${expression}\n)`, () => engine.value(expression, values, text)),
    checkReads: () => engine.checkReads(),
    interrupt: () => engine.interrupt(),
  };
}

/**
 * DuckDB's error where the memory of the session is used up, without its advice: it names settings, which are locked
 * here.
 */
function withOwnHint(error: unknown): unknown {
  if (!(error instanceof QueryError) || !error.message.startsWith("Out of Memory Error")) return error;
  const [message = ""] = error.message.split("\n");
  return new QueryError(message, error.sql, {
    hint: `${NARROWER}; barlake sql has more memory`,
    cause: error,
  });
}

import { type SqlToken, sqlTokens } from "../../db/statement/sql-tokens.js";

/** Words that a statement may begin with: queries, and changes of what is in memory of the session alone. */
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

/** Words that may stand between EXPLAIN and the statement that it explains. */
const EXPLAIN_WORDS: ReadonlySet<string> = new Set(["analyze", "analyse", "verbose"]);

/**
 * Functions that do more than read the lake although a query may call them: they write logs to a file of any permitted
 * folder, stop the log by which files are verified, or show how the lake's store is accessed. `query` and
 * `json_execute_serialized_sql` run a text that could hide them.
 */
const FORBIDDEN_FUNCTIONS: ReadonlySet<string> = new Set([
  "checkpoint",
  "disable_logging",
  "disable_profile",
  "disable_profiling",
  "duckdb_secrets",
  "enable_logging",
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
 * Why a statement may not run in the workspace, which only reads: DuckDB permits writes wherever it permits reads, so
 * COPY, EXPORT and ATTACH could change the lake itself. What a statement creates in memory ends with its session.
 *
 * @returns undefined where it may run.
 */
export function forbiddenBy(sql: string): string | undefined {
  const tokens = sqlTokens(sql).filter(({ kind }) => kind !== "blank" && kind !== "comment");
  const end = tokens.findIndex(isSemicolon);
  // Of several statements only the first would be judged.
  if (end >= 0 && !tokens.slice(end).every(isSemicolon))
    return "several statements stand where one is permitted";
  const first = firstWord(tokens);
  if (first !== undefined && !FIRST_WORDS.has(first))
    return `${first.toUpperCase()} is not permitted: the workspace only reads the lake`;
  const name = tokens.map(nameOf).find((word, at) => {
    return word !== undefined && FORBIDDEN_FUNCTIONS.has(word) && tokens[at + 1]?.text === "(";
  });
  return name === undefined ? undefined : `the function ${name} is not permitted in the workspace`;
}

/** The word that says what a statement does; undefined for SET VARIABLE, and where there is none. */
function firstWord(tokens: readonly SqlToken[]): string | undefined {
  let at = 0;
  while (tokens[at]?.text === "(") at++;
  const word = tokens[at]?.text.toLowerCase();
  const second = tokens[at + 1]?.text.toLowerCase();
  if ((word === "set" || word === "reset") && second === "variable") return undefined;
  if (word === "create" && hasSecret(tokens.slice(at + 1, at + 6))) return "create secret";
  if (word !== "explain") return word;
  let rest = tokens.slice(at + 1);
  while (rest[0] !== undefined && EXPLAIN_WORDS.has(rest[0].text.toLowerCase())) rest = rest.slice(1);
  if (rest[0]?.text === "(") {
    // Options in parentheses, or a query in parentheses: both end, and the statement is what follows or stands within.
    const end = rest.findIndex(({ text }) => text === ")");
    const inner = rest[1]?.text.toLowerCase() ?? "";
    if (!FIRST_WORDS.has(inner) && end > 0) rest = rest.slice(end + 1);
  }
  return firstWord(rest) ?? "select";
}

function isSemicolon({ kind, text }: SqlToken): boolean {
  return kind === "symbol" && text === ";";
}

function hasSecret(tokens: readonly SqlToken[]): boolean {
  return tokens.some(({ kind, text }) => kind === "word" && text.toLowerCase() === "secret");
}

/** The name that a token can call a function by. */
function nameOf({ kind, text }: SqlToken): string | undefined {
  if (kind === "word") return text.toLowerCase();
  return kind === "identifier" ? text.slice(1, -1).replaceAll('""', '"').toLowerCase() : undefined;
}

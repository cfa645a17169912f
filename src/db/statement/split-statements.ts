import { type SqlToken, sqlTokens } from "./sql-tokens.js";

/** One statement of several. */
export interface Statement {
  /** The text without its semicolon, and without blanks and comments before its first word. */
  readonly sql: string;
  /** Line of its first word, from 1. */
  readonly line: number;
}

/** The statements of an SQL text, and the text after the last semicolon: undefined where that is blank or a comment. */
export interface SplitSql {
  readonly statements: readonly Statement[];
  readonly rest: Statement | undefined;
}

/**
 * Splits SQL at its semicolons, except those in strings, quoted names, dollar quotes and comments. Statements that
 * consist only of blanks and comments are left out.
 */
export function splitStatements(sql: string): SplitSql {
  const statements: Statement[] = [];
  let tokens: SqlToken[] = [];
  for (const token of sqlTokens(sql)) {
    if (token.kind !== "symbol" || token.text !== ";") {
      tokens.push(token);
      continue;
    }
    const statement = statementOf(sql, tokens);
    if (statement !== undefined) statements.push(statement);
    tokens = [];
  }
  return { statements, rest: statementOf(sql, tokens) };
}

/** Every statement; the last one needs no semicolon. */
export function allStatements(sql: string): readonly Statement[] {
  const { statements, rest } = splitStatements(sql);
  return rest === undefined ? statements : [...statements, rest];
}

/**
 * A statement on one line, without its comments; undefined where a string in it contains a line break.
 */
export function onOneLine(sql: string): string | undefined {
  const parts = sqlTokens(sql).map(({ kind, text }) => (kind === "blank" || kind === "comment" ? " " : text));
  if (parts.some((part) => part.includes("\n"))) return undefined;
  return parts
    .filter((part, index) => part !== " " || parts[index - 1] !== " ")
    .join("")
    .trim();
}

function statementOf(sql: string, tokens: readonly SqlToken[]): Statement | undefined {
  const first = tokens.findIndex(({ kind, isOpen }) => isOpen || (kind !== "blank" && kind !== "comment"));
  const start = tokens[first]?.start;
  if (start === undefined) return undefined;
  return { sql: textOf(tokens.slice(first)).trimEnd(), line: sql.slice(0, start).split("\n").length };
}

function textOf(tokens: readonly SqlToken[]): string {
  return tokens.map(({ text }) => text).join("");
}

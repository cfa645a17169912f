/** A token of SQL; every character belongs to one. */
export interface SqlToken {
  readonly kind: "word" | "identifier" | "string" | "number" | "symbol" | "blank" | "comment";
  readonly text: string;
  /** Where it begins in the SQL, in UTF-16 units from 0. */
  readonly start: number;
  /** Whether its end is missing: a quote or a comment that is not closed. */
  readonly isOpen: boolean;
}

type Rule = readonly [kind: SqlToken["kind"], pattern: RegExp, isOpen: boolean];

/** What separates tokens: only some of Unicode's blanks, of which some have no width. All others may be part of a word. */
const BLANK = String.raw`[\t-\r \u00a0\u2000-\u200b\u202f\u205f\u2060\u3000\ufeff]`;
const LETTER = String.raw`(?!${BLANK})[\p{L}_\u{80}-\u{10ffff}]`;
const IN_TAG = String.raw`(?!${BLANK})[\p{L}\p{N}_\u{80}-\u{10ffff}]`;
const IN_ESCAPES = String.raw`(?:[^'\\]|''|\\[\s\S])*`;
/** Between two pieces of one string: blanks and comments, with a line break after the first comments. */
const NEXT_PIECE = String.raw`(?:[ \t\f]|--[^\r\n]*)*[\r\n](?:${BLANK}|--[^\r\n]*[\r\n])*`;
const ESCAPES = String.raw`[eE]'${IN_ESCAPES}(?:'${NEXT_PIECE}'${IN_ESCAPES})*`;

/** The token rules of DuckDB's scanner: the first match wins. Sticky patterns match only at `lastIndex`. */
const RULES: readonly Rule[] = [
  ["blank", new RegExp(`${BLANK}+`, "uy"), false],
  ["comment", /--[^\r\n]*/y, false],
  // A string with escapes goes on after a line break: a quote there opens no string of another kind.
  ["string", new RegExp(`${ESCAPES}'`, "uy"), false],
  ["string", new RegExp(String.raw`${ESCAPES}\\?$`, "uy"), true],
  ["string", /(?:[bBxX])?'(?:[^']|'')*'/y, false],
  ["string", /(?:[bBxX])?'(?:[^']|'')*$/y, true],
  ["identifier", /"(?:[^"]|"")*"/y, false],
  ["identifier", /"(?:[^"]|"")*$/y, true],
  ["word", new RegExp(`${LETTER}(?:${IN_TAG}|[$])*`, "uy"), false],
  // Letters after a number are not the number's: they begin a word, or a string with escapes.
  [
    "number",
    /0[xX][\da-fA-F]+|0[bB][01]+|\d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)?(?:[eE][+-]?\d+(?:_\d+)*)?/y,
    false,
  ],
];
const DOLLAR_QUOTE = new RegExp(String.raw`\$(?:${LETTER}(?:${IN_TAG})*)?\$`, "uy");

/** Splits SQL into tokens, as DuckDB's scanner does. Any text is accepted, and the tokens cover all of it. */
export function sqlTokens(sql: string): SqlToken[] {
  const tokens: SqlToken[] = [];
  let start = 0;
  while (start < sql.length) {
    const token = tokenAt(sql, start);
    tokens.push(token);
    start += token.text.length;
  }
  return tokens;
}

/** Whether a text has no second statement: after the first semicolon it has only semicolons, blanks and comments. */
export function isOneStatement(sql: string): boolean {
  const tokens = sqlTokens(sql).filter(({ kind }) => kind !== "blank" && kind !== "comment");
  const end = tokens.findIndex(isSemicolon);
  return end < 0 || tokens.slice(end).every(isSemicolon);
}

function isSemicolon({ kind, text }: SqlToken): boolean {
  return kind === "symbol" && text === ";";
}

function tokenAt(sql: string, start: number): SqlToken {
  if (sql.startsWith("/*", start)) return commentAt(sql, start);
  const tag = matchAt(DOLLAR_QUOTE, sql, start);
  if (tag !== undefined) {
    const end = sql.indexOf(tag, start + tag.length);
    const text = end < 0 ? sql.slice(start) : sql.slice(start, end + tag.length);
    return { kind: "string", text, start, isOpen: end < 0 };
  }
  for (const [kind, pattern, isOpen] of RULES) {
    const text = matchAt(pattern, sql, start);
    if (text !== undefined) return { kind, text, start, isOpen };
  }
  return { kind: "symbol", text: String.fromCodePoint(sql.codePointAt(start) ?? 0), start, isOpen: false };
}

function matchAt(pattern: RegExp, sql: string, start: number): string | undefined {
  pattern.lastIndex = start;
  return pattern.exec(sql)?.[0];
}

/** A block comment, which may contain others. */
function commentAt(sql: string, start: number): SqlToken {
  const edge = /\/\*|\*\//g;
  edge.lastIndex = start;
  let depth = 0;
  for (let found = edge.exec(sql); found !== null; found = edge.exec(sql)) {
    depth += found[0] === "/*" ? 1 : -1;
    if (depth === 0) return { kind: "comment", text: sql.slice(start, edge.lastIndex), start, isOpen: false };
  }
  return { kind: "comment", text: sql.slice(start), start, isOpen: true };
}

/** One statement of several. */
interface Statement {
  /** The text without its semicolon, and without blanks and comments before its first word. */
  readonly sql: string;
  /** Line of its first word, from 1. */
  readonly line: number;
}

/** The statements of an SQL text, and the text after the last semicolon: undefined where that is blank or a comment. */
interface SplitSql {
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

/**
 * Words of statements whose result may depend on all names of a database: lists of them, and functions that compute the
 * name of what they read.
 */
const CATALOG =
  /\b(?:show|describe|pragma|call|query|query_table|database|information_schema|sql_auto_complete|(?:duckdb|pg|sqlite)_\w+)\b|(?:^|[(;])\s*desc\b/i;

/**
 * Whether a statement may read the catalog. A statement that does not needs only the views whose names it mentions: a
 * missing view makes it fail, and no other view changes its result.
 */
export function readsCatalog(sql: string): boolean {
  return CATALOG.test(sql);
}

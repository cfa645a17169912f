import { type SqlToken, sqlTokens } from "./sql-tokens.js";

export interface CommentedName {
  readonly name: string;
  readonly comment: string | undefined;
}

interface MacroComment {
  readonly summary: string | undefined;
  readonly parameters: readonly CommentedName[];
  /** Columns of a table macro's result, as far as its comment names them. */
  readonly columns: readonly CommentedName[];
  /** Another table macro, all of whose columns this one also has. */
  readonly columnsOf: string | undefined;
}

/**
 * Parses a macro's comment: a summary, then `parameter: ...` and `-> column: ...`, each on a line. It need not name all
 * of the parameters.
 */
export function readMacroComment(comment: string, parameters: readonly string[]): MacroComment {
  const [summary = "", ...lines] = comment.split("\n");
  const said = (pattern: RegExp): CommentedName[] =>
    lines.flatMap((line) => {
      const [, name, text] = pattern.exec(line) ?? [];
      return name === undefined ? [] : [{ name, comment: text }];
    });
  const ofParameters = new Map(said(/^(\w+): (.*)$/).map((part) => [part.name, part.comment]));
  return {
    summary: summary === "" ? undefined : summary,
    parameters: parameters.map((name) => ({ name, comment: ofParameters.get(name) })),
    columns: said(/^-> (\w+): (.*)$/),
    columnsOf: /The columns of (\w+)/.exec(summary)?.[1],
  };
}

/** The description of a column, and its unit, which follows in brackets. */
export function splitUnit(comment: string | undefined): { readonly text: string; readonly unit: string } {
  const [, text = comment ?? "", unit = ""] = /^(.*?)\s*\[([^\]]*)\]$/s.exec(comment ?? "") ?? [];
  return { text, unit };
}

export interface CatalogColumn {
  readonly name: string;
  /** Its SQL type; undefined if unknown, as for a macro's column. */
  readonly type: string | undefined;
  readonly comment: string | undefined;
}

export interface CatalogRelation {
  /** Its name in SQL: with its schema, unless that is `main`. */
  readonly name: string;
  readonly kind: "table" | "view" | "table macro";
  readonly comment: string | undefined;
  readonly columns: readonly CatalogColumn[];
}

export interface CatalogMacro extends MacroComment {
  readonly name: string;
  readonly kind: "macro" | "table macro";
}

export interface Catalog {
  readonly relations: readonly CatalogRelation[];
  readonly macros: readonly CatalogMacro[];
  readonly functions: readonly string[];
  readonly keywords: readonly string[];
}

/** A relation by name; case is ignored, and `main` may be given or not. */
export function relationNamed(catalog: Catalog, name: string): CatalogRelation | undefined {
  const lowered = name.toLowerCase().replace(/^main\./, "");
  return catalog.relations.find((relation) => relation.name.toLowerCase() === lowered);
}

interface NamedRelation {
  readonly relation: CatalogRelation;
  /** Its name in the statement: the alias, otherwise its own name. */
  readonly alias: string;
}

/** The relations that a statement names, in order, each with its alias. The statement may be incomplete. */
export function namedRelations(sql: string, catalog: Catalog): NamedRelation[] {
  const tokens = sqlTokens(sql).filter(({ kind }) => kind !== "blank" && kind !== "comment");
  const keywords = new Set(catalog.keywords);
  const found: NamedRelation[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const { name, end } = dottedName(tokens, at);
    const relation = name === undefined ? undefined : relationNamed(catalog, name);
    if (relation === undefined || name === undefined) continue;
    const after = afterCall(tokens, end);
    const next = tokens[after]?.text.toLowerCase() === "as" ? tokens[after + 1] : tokens[after];
    const isAlias =
      next?.kind === "identifier" || (next?.kind === "word" && !keywords.has(next.text.toLowerCase()));
    found.push({ relation, alias: isAlias && next ? unquoted(next) : (name.split(".").at(-1) ?? name) });
    at = end - 1;
  }
  return found;
}

function dottedName(tokens: readonly SqlToken[], at: number): { name: string | undefined; end: number } {
  const isName = (token: SqlToken | undefined): token is SqlToken =>
    token?.kind === "word" || token?.kind === "identifier";
  const [first, dot, second] = [tokens[at], tokens[at + 1], tokens[at + 2]];
  if (!isName(first)) return { name: undefined, end: at + 1 };
  if (dot?.text === "." && isName(second))
    return { name: `${unquoted(first)}.${unquoted(second)}`, end: at + 3 };
  return { name: unquoted(first), end: at + 1 };
}

/** The token after the parameters of a macro, if there are any. */
function afterCall(tokens: readonly SqlToken[], at: number): number {
  if (tokens[at]?.text !== "(") return at;
  let depth = 0;
  for (let end = at; end < tokens.length; end++) {
    if (tokens[end]?.text === "(") depth++;
    if (tokens[end]?.text === ")") depth--;
    if (depth === 0) return end + 1;
  }
  return tokens.length;
}

function unquoted({ kind, text }: SqlToken): string {
  return kind === "identifier" ? text.replace(/^"|"$/g, "").replaceAll('""', '"') : text;
}

type CandidateKind = CatalogRelation["kind"] | "column" | "alias" | "macro" | "function" | "keyword";

/** A text that can replace the word before the cursor. */
export interface Candidate {
  readonly text: string;
  readonly kind: CandidateKind;
  /** SQL type of a column, where it is known. */
  readonly type?: string | undefined;
  /** What the catalog says about it; the comment of a column ends with its unit in brackets. */
  readonly comment?: string | undefined;
}

interface Candidates {
  /** The most likely first; each replaces {@link word}. */
  readonly found: readonly Candidate[];
  readonly word: string;
}

const NONE: Candidates = { found: [], word: "" };

/** The end of a text after which a value begins: of a keyword that takes values, or of an operator. `*` may be all columns. */
const BEFORE_VALUE =
  /(?:\b(?:select|distinct|where|having|by|on|and|or|not|when|then|else)\s+|[,(=<>+/-]\s*)$/i;

const BEFORE_RELATION = new Set(["from", "join", "describe", "summarize", "into", "table", "view"]);

/**
 * Completes SQL at the end of a text: after FROM and similar keywords tables, views and macros; elsewhere first the
 * columns of the statement's relations, then relations, keywords and functions; if none matches, all other columns.
 * Where a value begins and no relation is named yet, all columns come first.
 *
 * @param statement the text of the statement up to the cursor.
 * @param behind the text of the statement after the cursor.
 */
export function sqlCandidates(statement: string, catalog: Catalog, behind = ""): Candidates {
  const tokens = sqlTokens(statement);
  const last = tokens.at(-1);
  if (last !== undefined && (last.kind === "comment" || last.kind === "string" || last.kind === "number"))
    return NONE;
  const [word = ""] = /(?:[\p{L}\p{N}_$"]|(?<=[\p{L}\p{N}_$"])\.)*$/u.exec(statement) ?? [];
  const named = namedRelations(statement + behind, catalog);
  const relations: Candidate[] = [
    ...catalog.relations.map(relationCandidate),
    ...catalog.macros
      .filter(({ kind }) => kind === "macro")
      .map(({ name, summary }): Candidate => ({ text: name, kind: "macro", comment: summary })),
  ];
  const dot = word.lastIndexOf(".");
  if (dot > 0) {
    const qualifier = word.slice(0, dot).replaceAll('"', "").toLowerCase();
    const columns = named
      .filter(({ alias, relation }) => [alias.toLowerCase(), relation.name.toLowerCase()].includes(qualifier))
      .flatMap(({ relation }) =>
        relation.columns.map((column) => columnCandidate(column, `${word.slice(0, dot)}.`)),
      );
    return matching(word, [...columns, ...relations]);
  }
  if (BEFORE_RELATION.has(wordBefore(statement, word))) {
    const tables = catalog.relations.filter(({ name }) => word !== "" || !name.includes("."));
    return matching(word, tables.map(relationCandidate));
  }
  const near = named.flatMap(({ relation }) => relation.columns.map((column) => columnCandidate(column)));
  if (word === "") return matching(word, near);
  const aliases = named.map(({ alias, relation }): Candidate => {
    return { text: quoted(alias), kind: "alias", comment: relation.name };
  });
  const known = [
    ...catalog.keywords.map((name): Candidate => ({ text: inCaseOf(word, name), kind: "keyword" })),
    ...catalog.functions.map((name): Candidate => ({ text: inCaseOf(word, name), kind: "function" })),
  ];
  const all = catalog.relations.flatMap(({ columns }) => columns.map((column) => columnCandidate(column)));
  const first =
    named.length === 0 && BEFORE_VALUE.test(statement.slice(0, statement.length - word.length)) ? all : near;
  const likely = matching(word, [...first, ...aliases, ...relations, ...known]);
  return likely.found.length > 0 ? likely : matching(word, all);
}

function relationCandidate({ name, kind, comment }: CatalogRelation): Candidate {
  return { text: name, kind, comment };
}

function columnCandidate({ name, type, comment }: CatalogColumn, before = ""): Candidate {
  return { text: before + quoted(name), kind: "column", type, comment };
}

function wordBefore(statement: string, word: string): string {
  const before = statement.slice(0, statement.length - word.length);
  return (/([A-Za-z_]+)\s+$/.exec(before)?.[1] ?? "").toLowerCase();
}

function matching(word: string, candidates: readonly Candidate[]): Candidates {
  const found = beginningWith(word, candidates, ({ text }) => text);
  return { found, word };
}

/**
 * What begins with a word; case and quotes are ignored, and of the same text only the first is taken. Nothing where the
 * word itself is the only one.
 */
export function beginningWith<T>(word: string, all: readonly T[], textOf: (one: T) => string): readonly T[] {
  const bare = (text: string): string => text.toLowerCase().replaceAll('"', "");
  const start = bare(word);
  const found = new Map<string, T>();
  for (const one of all) {
    const text = textOf(one);
    if (!found.has(text) && bare(text).startsWith(start)) found.set(text, one);
  }
  const [only] = found.size === 1 ? found.keys() : [];
  return only?.toLowerCase() === word.toLowerCase() ? [] : [...found.values()];
}

/** A case-insensitive name in the user's case: in capitals if the typed word begins with a capital. */
function inCaseOf(word: string, name: string): string {
  return /^[A-Z]/.test(word) ? name.toUpperCase() : name;
}

function quoted(name: string): string {
  return /^[a-z_][a-z0-9_]*$/i.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

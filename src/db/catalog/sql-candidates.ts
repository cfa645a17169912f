import { sqlTokens } from "../statement/sql-tokens.js";
import type { Catalog, CatalogColumn, CatalogRelation } from "./catalog.js";
import { namedRelations } from "./named-relations.js";

/** What a candidate names. */
export type CandidateKind = CatalogRelation["kind"] | "column" | "alias" | "macro" | "function" | "keyword";

/** A text that can replace the word before the cursor. */
export interface Candidate {
  readonly text: string;
  readonly kind: CandidateKind;
  /** SQL type of a column, where it is known. */
  readonly type?: string | undefined;
  /** What the catalog says about it; the comment of a column ends with its unit in brackets. */
  readonly comment?: string | undefined;
}

/** Candidates to replace the text before the cursor. */
export interface Candidates {
  /** The most likely first; each replaces {@link word}. */
  readonly found: readonly Candidate[];
  readonly word: string;
}

const NONE: Candidates = { found: [], word: "" };

/** Keywords that only a relation can follow. */
const BEFORE_RELATION = new Set(["from", "join", "describe", "summarize", "into", "table", "view"]);

/**
 * Completes SQL at the end of a text: after FROM and similar keywords tables, views and macros; elsewhere first the
 * columns of the statement's relations, then relations, keywords and functions; if none matches, all other columns.
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
  const likely = matching(word, [...near, ...aliases, ...relations, ...known]);
  if (likely.found.length > 0) return likely;
  return matching(
    word,
    catalog.relations.flatMap(({ columns }) => columns.map((column) => columnCandidate(column))),
  );
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

/** The candidates that begin with a word, each text once; none where the word is the only one. */
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

/** A name, quoted if SQL requires it. */
function quoted(name: string): string {
  return /^[a-z_][a-z0-9_]*$/i.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

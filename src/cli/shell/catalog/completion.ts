import { sqlTokens } from "../../../db/statement/sql-tokens.js";
import type { Catalog } from "./catalog.js";
import { namedRelations } from "./named-relations.js";

/** Candidates to replace the text before the cursor. */
export interface Completions {
  /** The most likely first; each replaces {@link word}. */
  readonly found: readonly string[];
  readonly word: string;
}

const NONE: Completions = { found: [], word: "" };

/** Keywords that only a relation can follow. */
const BEFORE_RELATION = new Set(["from", "join", "describe", "summarize", "into", "table", "view"]);

/**
 * Completes SQL at the end of a text: after FROM and similar keywords tables, views and macros; elsewhere first the
 * columns of the statement's relations, then relations, keywords and functions; if none matches, all other columns.
 *
 * @param statement the text of the statement up to the cursor.
 * @param behind the text of the statement after the cursor.
 */
export function completeSql(statement: string, catalog: Catalog, behind = ""): Completions {
  const tokens = sqlTokens(statement);
  const last = tokens.at(-1);
  if (last !== undefined && (last.kind === "comment" || last.kind === "string" || last.kind === "number"))
    return NONE;
  const [word = ""] = /(?:[\p{L}\p{N}_$"]|(?<=[\p{L}\p{N}_$"])\.)*$/u.exec(statement) ?? [];
  const named = namedRelations(statement + behind, catalog);
  const relations = [
    ...catalog.relations.map(({ name }) => name),
    ...catalog.macros.filter(({ kind }) => kind === "macro").map(({ name }) => name),
  ];
  const dot = word.lastIndexOf(".");
  if (dot > 0) {
    const qualifier = word.slice(0, dot).replaceAll('"', "").toLowerCase();
    const columns = named
      .filter(({ alias, relation }) => [alias.toLowerCase(), relation.name.toLowerCase()].includes(qualifier))
      .flatMap(({ relation }) => relation.columns.map(({ name }) => `${word.slice(0, dot)}.${quoted(name)}`));
    return matching(word, [...columns, ...relations]);
  }
  if (BEFORE_RELATION.has(wordBefore(statement, word))) {
    const tables = catalog.relations.map(({ name }) => name);
    return matching(
      word,
      tables.filter((name) => word !== "" || !name.includes(".")),
    );
  }
  const near = named.flatMap(({ relation }) => relation.columns.map(({ name }) => quoted(name)));
  const aliases = named.map(({ alias }) => quoted(alias));
  if (word === "") return matching(word, near);
  const known = [...catalog.keywords, ...catalog.functions].map((name) => inCaseOf(word, name));
  const far = catalog.relations.flatMap(({ columns }) => columns.map(({ name }) => quoted(name)));
  const likely = matching(word, [...near, ...aliases, ...relations, ...known]);
  return likely.found.length > 0 ? likely : matching(word, far);
}

function wordBefore(statement: string, word: string): string {
  const before = statement.slice(0, statement.length - word.length);
  return (/([A-Za-z_]+)\s+$/.exec(before)?.[1] ?? "").toLowerCase();
}

function matching(word: string, candidates: readonly string[]): Completions {
  const bare = (text: string): string => text.toLowerCase().replaceAll('"', "");
  const start = bare(word);
  const found = [...new Set(candidates.filter((candidate) => bare(candidate).startsWith(start)))];
  const isWhole = found.length === 1 && found[0]?.toLowerCase() === word.toLowerCase();
  return { found: isWhole ? [] : found, word };
}

/** A case-insensitive name in the user's case: in capitals if the typed word begins with a capital. */
function inCaseOf(word: string, name: string): string {
  return /^[A-Z]/.test(word) ? name.toUpperCase() : name;
}

/** A name, quoted if SQL requires it. */
function quoted(name: string): string {
  return /^[a-z_][a-z0-9_]*$/i.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

/** Sources for completing the parameters of a dot command. */
export interface CommandChoices {
  readonly name: string;
  /** Choices for the parameter at an index, from 0. */
  readonly choices: (place: number) => readonly string[];
}

/** Completes a line that begins with a dot: commands, then their parameters. */
export function completeCommand(line: string, commands: readonly CommandChoices[]): Completions {
  const words = line.trimStart().split(/\s+/);
  const word = words.at(-1) ?? "";
  if (words.length === 1)
    return matching(
      word,
      commands.map(({ name }) => name),
    );
  const command = commands.find(({ name }) => name === words[0]);
  return command === undefined ? NONE : matching(word, command.choices(words.length - 2));
}

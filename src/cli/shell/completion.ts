import { QueryError } from "../../core/errors.js";
import { beginningWith, type Catalog, namedRelations, sqlCandidates } from "../../db/catalog.js";
import { literal, literalList } from "../../db/quote.js";
import { readCatalog } from "../../db/read-catalog.js";
import type { Session } from "../../db/session/session.js";
import { StatementError } from "../error-text.js";

/** DuckDB proposes no names for an unknown column of an alias. */
const UNKNOWN_OF_ALIAS = /does not have a column named "([^"]+)"/;
const PROPOSED = 3;

/** For an unknown column without DuckDB's proposals: the error with a hint that names similar columns. */
export async function withProposals(session: Session, error: QueryError): Promise<QueryError> {
  const unknown = UNKNOWN_OF_ALIAS.exec(error.message)?.[1];
  if (unknown === undefined || error.hint !== undefined) return error;
  const named = namedRelations(error.sql, await readCatalog(session));
  const names = [...new Set(named.flatMap(({ relation }) => relation.columns.map(({ name }) => name)))];
  if (names.length === 0) return error;
  const rows = await session.json<{ name: string }>(
    `SELECT name FROM (SELECT unnest(${literalList(names)}) AS name)
     ORDER BY jaro_winkler_similarity(name, ${literal(unknown)}) DESC, name LIMIT ${PROPOSED}`,
  );
  const likely = rows.map(({ name }) => name);
  const hint = `did you mean ${likely.slice(0, -1).join(", ")}${likely.length > 1 ? " or " : ""}${likely.at(-1)}?`;
  const proposing = new QueryError(error.message, error.sql, { hint, cause: error });
  return error instanceof StatementError ? new StatementError(proposing, error.line) : proposing;
}

/** Texts to replace the word before the cursor. */
export interface Completions {
  /** The most likely first; each replaces {@link word}. */
  readonly found: readonly string[];
  readonly word: string;
}

/** Completes SQL at the end of a text: {@link sqlCandidates}. */
export function completeSql(statement: string, catalog: Catalog, behind = ""): Completions {
  const { found, word } = sqlCandidates(statement, catalog, behind);
  return { found: found.map(({ text }) => text), word };
}

export interface CommandChoices {
  readonly name: string;
  /** Choices for the parameter at an index, from 0. */
  readonly choices: (place: number) => readonly string[];
}

export function completeCommand(line: string, commands: readonly CommandChoices[]): Completions {
  const words = line.trimStart().split(/\s+/);
  const word = words.at(-1) ?? "";
  const [first = ""] = words;
  const command = commands.find(({ name }) => name === first);
  const choices =
    words.length === 1 ? commands.map(({ name }) => name) : (command?.choices(words.length - 2) ?? []);
  return { found: beginningWith(word, choices, (choice) => choice), word };
}

import type { Catalog } from "../../../db/catalog/catalog.js";
import { beginningWith, sqlCandidates } from "../../../db/catalog/sql-candidates.js";

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
  const [first = ""] = words;
  const command = commands.find(({ name }) => name === first);
  const choices =
    words.length === 1 ? commands.map(({ name }) => name) : (command?.choices(words.length - 2) ?? []);
  return { found: beginningWith(word, choices, (choice) => choice), word };
}

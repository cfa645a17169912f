import type { QueryError } from "../../core/errors.js";
import { errorPlace, PLACE, placeText } from "../../db/result/error-place.js";
import { paint } from "../text/text.js";
import { inOptionWords } from "./option-words.js";

/** The parts of a failed query's message. */
export interface QueryErrorText {
  /** DuckDB's message, without the position and without its proposals. */
  readonly message: string;
  /** The statement's line, with a caret below it; undefined if DuckDB gives no position. */
  readonly place: string | undefined;
  readonly hint: string | undefined;
}

/** DuckDB's proposals. */
const CANDIDATES = /^(?:Candidate bindings:|Did you mean) (.+?)\??$/m;

/**
 * Parses DuckDB's message about a query.
 *
 * @param firstLine number of the statement's first line, if it is one of several statements.
 */
export function queryErrorText(error: QueryError, firstLine = 1): QueryErrorText {
  const { message } = error;
  const [beforeFunctions = ""] = message.replace(PLACE, "").split(/\n\s*Candidate functions:/);
  const text = beforeFunctions.replace(CANDIDATES, "").trim();
  return {
    message: text,
    place: placeOf(error, firstLine),
    hint: (error.hint && inOptionWords(error.hint)) ?? proposals(message) ?? adviceFor(text),
  };
}

function placeOf(error: QueryError, firstLine: number): string | undefined {
  const place = errorPlace(error);
  if (place === undefined) return undefined;
  const isOnly = firstLine === 1 && !error.sql.includes("\n");
  return placeText(place, isOnly ? "" : `line ${firstLine + place.line}: `);
}

function proposals(message: string): string | undefined {
  const names = [...(CANDIDATES.exec(message)?.[1] ?? "").matchAll(/"([^"]+)"/g)].map(([, name]) => name);
  if (names.length === 0) return undefined;
  const last = names.at(-1);
  return `did you mean ${names.length === 1 ? last : `${names.slice(0, -1).join(", ")} or ${last}`}?`;
}

function adviceFor(message: string): string | undefined {
  if (/^Catalog Error: Table .* does not exist/.test(message))
    return "the shell's .tables lists what there is";
  if (/does not have a column named|Referenced column .* not found/.test(message))
    return "the shell's .describe NAME lists the columns of a table";
  if (/You might need to add explicit type casts/.test(message))
    return "cast a value with ::, as in '1'::INTEGER";
  return undefined;
}

/** A failed query as lines for people; {@link queryErrorText} documents the parameters. */
export function formatQueryError(error: QueryError, firstLine?: number): string {
  const { message, place, hint } = queryErrorText(error, firstLine);
  const lines = [`${paint("red", "error:")} ${message}`];
  if (place !== undefined) lines.push(...place.split("\n").map((line) => `  ${line}`));
  if (hint !== undefined) lines.push(`${paint("dim", "hint:")}  ${hint}`);
  return lines.join("\n");
}

import stringWidth from "string-width";
import type { QueryError } from "../../core/errors.js";

/** How DuckDB shows a position: a part of a line, with a caret below it. */
export const PLACE = /\n*^LINE (\d+): (.*)\n( *)\^.*$/m;

interface ErrorPlace {
  readonly line: number;
  /** Line of the statement, from 0. */
  readonly text: string;
  /** Width of what is left of the caret, in DuckDB's counting: a tab has none. */
  readonly column: number;
}

/** Where DuckDB's message about a query says that it is wrong; undefined where it gives no position. */
export function errorPlace({ message, sql }: Pick<QueryError, "message" | "sql">): ErrorPlace | undefined {
  const lines = sql.split("\n");
  if (/syntax error at end of input/.test(message)) {
    const line = lines.findLastIndex((text) => text.trim() !== "");
    const text = lines[line]?.trimEnd() ?? "";
    return { line, text, column: stringWidth(text) };
  }
  const [, number = "", part = "", indent = ""] = PLACE.exec(message) ?? [];
  const index = Number(number) - 1;
  const text = lines[index];
  if (number === "" || text === undefined) return undefined;
  // DuckDB shows a part of a long line, with dots where it is cut.
  const shown = part.replace(/^\.\.\./, "").replace(/\.\.\.$/, "");
  const start = text.indexOf(shown);
  if (start < 0) return undefined;
  const within = indent.length - `LINE ${number}: ${part.startsWith("...") ? "..." : ""}`.length;
  return { line: index, text, column: stringWidth(text.slice(0, start)) + within };
}

/** Number of UTF-16 units before a place in its line. */
export function unitsBefore({ text, column }: ErrorPlace): number {
  return textBefore(text, column).length;
}

/** A place as two lines: the text, and a caret below it. @param label before the text. */
export function placeText({ text, column }: ErrorPlace, label = ""): string {
  const before = stringWidth(textBefore(text, column).replaceAll("\t", " "));
  return `${label}${text.replaceAll("\t", " ")}\n${" ".repeat(label.length + before)}^`;
}

/** The text before a column, in DuckDB's counting: a tab has no width. */
function textBefore(line: string, column: number): string {
  let before = "";
  for (const character of line) {
    if (stringWidth(before) >= column && stringWidth(character) > 0) break;
    before += character;
  }
  return before;
}

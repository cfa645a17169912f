import { QueryError } from "../../core/errors.js";
import type { NotebookLine } from "../page-data.js";
import { MOST_TEXT } from "../process/most-text.js";

/** A line of the output of a run as JSON. @throws {QueryError} where it is too large for a page. */
export function lineText(line: NotebookLine): string {
  const text = JSON.stringify(line);
  if (text.length <= MOST_TEXT) return text;
  const subject = line.kind === "begin" ? "the parameters are" : "an error is";
  throw new QueryError(`${subject} too large to be shown`, "", { hint: "shorten their values" });
}

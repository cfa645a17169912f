import { BarlakeError, messageOf, QueryError } from "../../core/errors.js";
import { formatQueryError } from "../results/query-error-text.js";
import { StatementError } from "../results/statement-error.js";
import { paint } from "./text.js";

/** An error for people: what went wrong, the place in a query, and what to do next. */
export function errorText(error: unknown): string {
  if (error instanceof QueryError)
    return formatQueryError(error, error instanceof StatementError ? error.line : undefined);
  const hint = error instanceof BarlakeError && error.hint ? `\n${paint("dim", "hint:")}  ${error.hint}` : "";
  return `${paint("red", "error:")} ${messageOf(error)}${hint}`;
}

import { BarlakeError, messageOf, QueryError } from "../../core/errors.js";
import { laterErrors } from "../../core/release-after.js";
import { formatQueryError } from "../results/query-error-text.js";
import { StatementError } from "../results/statement-error.js";
import { paint } from "./text.js";

/** An error for people: what went wrong, the place in a query, what to do next, and what failed after it. */
export function errorText(error: unknown): string {
  if (error instanceof QueryError)
    return formatQueryError(error, error instanceof StatementError ? error.line : undefined);
  const hint = error instanceof BarlakeError && error.hint ? `\n${paint("dim", "hint:")}  ${error.hint}` : "";
  const later = laterErrors(error).map((one) => `\n${paint("dim", "then:")}  ${messageOf(one)}`);
  return `${paint("red", "error:")} ${messageOf(error)}${hint}${later.join("")}`;
}

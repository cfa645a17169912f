import { BarlakeError, messageOf, QueryError } from "../../core/errors.js";
import { laterErrors } from "../../core/release-after.js";
import { paint } from "../text/text.js";
import { inOptionWords } from "./option-words.js";
import { formatQueryError } from "./query-error-text.js";
import { StatementError } from "./statement-error.js";
import { systemFaultOf } from "./system-fault.js";

/** An error for people: what went wrong, the place in a query, what to do next, and what failed after it. */
export function errorText(error: unknown): string {
  if (error instanceof QueryError)
    return formatQueryError(error, error instanceof StatementError ? error.line : undefined);
  const { message, hint: advice } = explanationOf(error);
  const hint = advice ? `\n${paint("dim", "hint:")}  ${inOptionWords(advice)}` : "";
  const later = laterErrors(error).map(
    (one) => `\n${paint("dim", "then:")}  ${inOptionWords(messageOf(one))}`,
  );
  return `${paint("red", "error:")} ${inOptionWords(message)}${hint}${later.join("")}`;
}

function explanationOf(error: unknown): { readonly message: string; readonly hint?: string | undefined } {
  if (error instanceof BarlakeError) return error;
  return systemFaultOf(error) ?? { message: messageOf(error) };
}

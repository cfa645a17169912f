import { BarlakeError, messageOf, QueryError, UsageError } from "../../core/errors.js";

/** An error as plain data. */
export interface ErrorData {
  readonly kind: "usage" | "query" | "barlake" | "other";
  readonly message: string;
  readonly hint: string | undefined;
}

/** Most characters of a message: SQL can make an error of any length. */
const MOST_MESSAGE = 10_000;

export function errorData(error: unknown): ErrorData {
  const message = messageOf(error).slice(0, MOST_MESSAGE);
  if (!(error instanceof BarlakeError)) return { kind: "other", message, hint: undefined };
  const kind = error instanceof UsageError ? "usage" : error instanceof QueryError ? "query" : "barlake";
  return { kind, message, hint: error.hint?.slice(0, MOST_MESSAGE) };
}

/** The error of which the data was made. */
export function errorOf({ kind, message, hint }: ErrorData): Error {
  if (kind === "usage") return new UsageError(message, { hint });
  if (kind === "query") return new QueryError(message, "", { hint });
  return kind === "barlake" ? new BarlakeError(message, { hint }) : new Error(message);
}

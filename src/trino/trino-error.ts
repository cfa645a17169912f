import stringWidth from "string-width";
import { QueryError } from "../core/errors.js";
import type { TrinoFailure } from "./parse-page.js";

/** A query that Trino refused or could not finish. */
export class TrinoQueryError extends QueryError {
  /** Trino's name of the error, such as TABLE_NOT_FOUND. */
  readonly errorName: string;
  /** Whether the statement caused the error, and not the server. */
  readonly isWrongStatement: boolean;

  constructor(
    message: string,
    sql: string,
    { errorName, errorType }: TrinoFailure,
    hint: string | undefined,
  ) {
    super(message, sql, { hint });
    this.errorName = errorName;
    this.isWrongStatement = errorType === "USER_ERROR";
  }
}

const HINTS: Readonly<Record<string, string>> = {
  TABLE_NOT_FOUND: "barlake trino install creates the tables and views; .tables lists them",
  SCHEMA_NOT_FOUND: "barlake trino install creates the schemas; `schema` names another",
  CATALOG_NOT_FOUND: "`catalog` names another; SHOW CATALOGS lists them",
  COLUMN_NOT_FOUND: "the shell's .describe NAME lists the columns of a table",
  EXCEEDED_LOCAL_MEMORY_LIMIT: "ask for fewer symbols or days at a time, or give Trino more memory",
};

/** The error of a failed query. Its position in the statement has the form of DuckDB's errors. */
export function trinoError(failure: TrinoFailure, sql: string): TrinoQueryError {
  const { message, errorName, errorLocation } = failure;
  const text = `${errorName}: ${message.replace(/^line \d+:\d+: /, "")}`;
  const line = errorLocation && sql.split("\n")[errorLocation.lineNumber - 1];
  if (errorLocation === undefined || line === undefined)
    return new TrinoQueryError(text, sql, failure, HINTS[errorName]);
  const { lineNumber, columnNumber } = errorLocation;
  const label = `LINE ${lineNumber}: `;
  // Columns count code points. In DuckDB's form a tab has no width.
  const before = Array.from(line)
    .slice(0, columnNumber - 1)
    .join("");
  const indent = " ".repeat(label.length + stringWidth(before));
  return new TrinoQueryError(`${text}\n\n${label}${line}\n${indent}^`, sql, failure, HINTS[errorName]);
}

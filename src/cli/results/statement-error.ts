import { QueryError } from "../../core/errors.js";

/** A statement among others failed. */
export class StatementError extends QueryError {
  /** Line of its beginning among all lines, from 1. */
  readonly line: number;

  constructor(error: QueryError, line: number) {
    super(error.message, error.sql, { hint: error.hint, cause: error });
    this.line = line;
  }
}

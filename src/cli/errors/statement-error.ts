import { QueryError } from "../../core/errors.js";

/** The failure of one of several statements. */
export class StatementError extends QueryError {
  /** Number of its first line among all lines, from 1. */
  readonly line: number;

  constructor(error: QueryError, line: number) {
    super(error.message, error.sql, { hint: error.hint, cause: error });
    this.line = line;
  }
}

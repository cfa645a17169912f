export interface ErrorOptionsWithHint {
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

/** Base of all errors that this project throws on purpose. The message begins with its subject. */
export class BarlakeError extends Error {
  /** What the user can do next, in one sentence. */
  readonly hint: string | undefined;

  constructor(message: string, options: ErrorOptionsWithHint = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.hint = options.hint;
  }
}

/** The caller asked for something that cannot be: a wrong argument, option or definition. Exit code 2. */
export class UsageError extends BarlakeError {}

/** Bytes of an answer that are not what the interface says. */
export class WireError extends BarlakeError {
  /** `truncated`: the body ended early and may be asked for again; the other kinds do not heal. */
  readonly kind: "truncated" | "malformed" | "limit" | "not_json" | "wrong_shape";
  /** Offset in the decoded body at which the rule was broken, from 0. */
  readonly byteOffset: number;

  constructor(
    kind: WireError["kind"],
    message: string,
    byteOffset: number,
    options: ErrorOptionsWithHint = {},
  ) {
    super(`${message} (at byte ${byteOffset})`, options);
    this.kind = kind;
    this.byteOffset = byteOffset;
  }
}

/** The service answered with its error body, or with a status that is not 200. */
export class ServiceError extends BarlakeError {
  readonly status: number;
  /** The error body's `code`, or `HTTP_<status>` where there was none. */
  readonly code: string;
  /** How long the service told us to wait, in milliseconds, where it did. */
  readonly retryAfterMs: number | undefined;
  /** The error body's `message`, where there was one. */
  readonly told: string | undefined;

  constructor(
    message: string,
    facts: { status: number; code: string; retryAfterMs?: number | undefined; told?: string | undefined },
    options: ErrorOptionsWithHint = {},
  ) {
    super(message, options);
    this.status = facts.status;
    this.code = facts.code;
    this.retryAfterMs = facts.retryAfterMs;
    this.told = facts.told;
  }
}

/** A connection that could not be made, broke, or took too long. May be asked again. */
export class TransportError extends BarlakeError {}

/** A table's log or files are not as the lake left them, or need a reader that this version is not. */
export class LakeError extends BarlakeError {}

/** Another writer committed first, as often as the retries allowed. */
export class CommitConflict extends LakeError {}

/** A query failed; `sql` is the statement. */
export class QueryError extends BarlakeError {
  readonly sql: string;

  constructor(message: string, sql: string, options: ErrorOptionsWithHint = {}) {
    super(message, options);
    this.sql = sql;
  }
}

/** The text of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

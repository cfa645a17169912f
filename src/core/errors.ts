/** What an error has in addition to its message. */
export interface ErrorOptionsWithHint {
  /** What to do about it, in one sentence. */
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

/** What the user can do about an error; undefined where it does not say. */
export function hintOf(error: unknown): string | undefined {
  return error instanceof BarlakeError ? error.hint : undefined;
}

/** The caller asked for something impossible: a wrong argument, option or definition. Exit code 2. */
export class UsageError extends BarlakeError {}

/** A response whose bytes break the rules of the interface. */
export class WireError extends BarlakeError {
  /** `truncated`: the body ended early, and the request may be repeated. A repeat does not help for the other kinds. */
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

/** The service responded with its error body, or with a status that is not 200. */
export class ServiceError extends BarlakeError {
  readonly status: number;
  /** The error body's `code`, or `HTTP_<status>` where there was none. */
  readonly code: string;
  /** How long the service says to wait, in milliseconds; undefined where it does not say. */
  readonly retryAfterMs: number | undefined;
  /** The error body's `message`, where there was one. */
  readonly serverMessage: string | undefined;

  constructor(
    message: string,
    facts: {
      status: number;
      code: string;
      retryAfterMs?: number | undefined;
      serverMessage?: string | undefined;
    },
    options: ErrorOptionsWithHint = {},
  ) {
    super(message, options);
    this.status = facts.status;
    this.code = facts.code;
    this.retryAfterMs = facts.retryAfterMs;
    this.serverMessage = facts.serverMessage;
  }
}

/** A connection that could not be made, broke, or took too long. The request may be repeated. */
export class TransportError extends BarlakeError {}

/** A table's log or files are damaged, or need features that this version does not support. */
export class LakeError extends BarlakeError {}

/** Another writer committed first at every attempt. */
export class CommitConflict extends LakeError {}

/** A query failed. */
export class QueryError extends BarlakeError {
  readonly sql: string;

  constructor(message: string, sql: string, options: ErrorOptionsWithHint = {}) {
    super(message, options);
    this.sql = sql;
  }
}

/** The message of a thrown value, which need not be an error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The error of a server that cannot listen on its address, because another program does, for example. */
export function cannotListen(
  subject: string,
  { host, port }: { readonly host: string; readonly port: number },
  cause: unknown,
  hint: string,
): BarlakeError {
  return new BarlakeError(`${subject}: cannot listen on ${host}, port ${port}: ${messageOf(cause)}`, {
    cause,
    hint,
  });
}

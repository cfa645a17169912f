import { z } from "zod";
import { PERMISSION_CODES, type PermissionCode } from "./endpoints.js";

const PERMISSION_STATUS = Object.fromEntries(
  Object.keys(PERMISSION_CODES).map((code) => [code, 403]),
) as Record<PermissionCode, 403>;

/** Error codes of this project's service, and their HTTP status. */
export const ERROR_STATUS = {
  ...PERMISSION_STATUS,
  INVALID_PERIOD: 400,
  INVALID_PARAMETER: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  SYMBOL_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  PAYLOAD_TOO_LARGE: 413,
  RATE_LIMITED: 429,
  INTERNAL: 500,
  INTRADAY_UNAVAILABLE: 503,
  LAKE_UNAVAILABLE: 503,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

/** The body of every response that is not a success. */
export interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly details?: unknown;
}

export const errorBody = z.looseObject({
  code: z.string(),
  message: z.string(),
  details: z.unknown().optional(),
});

/** Reads an error body; undefined where the text is not an error body, for example the HTML of a proxy. */
export function parseErrorBody(text: string): ErrorBody | undefined {
  try {
    return errorBody.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Longest wait that is accepted from a service, in milliseconds. */
const MAX_WAIT_MS = 15 * 60_000;

/** A number of seconds to wait in a message. Other numbers of seconds are the period of a limit. */
const SECONDS = /\b(?:in|after|wait(?: for)?)\s+(\d+(?:\.\d+)?)\s*(?:s|secs?|seconds?)\b/i;

/**
 * The milliseconds to wait after a 429: those in the message (`39351ms`), which are the most exact, else the header
 * `Retry-After` (seconds or an HTTP date), else the seconds in the message (`retry in 2 seconds`). Undefined where none
 * is stated, or 0, or invalid. @param now epoch milliseconds.
 */
export function retryAfterMs(message: string, header: string | undefined, now: number): number | undefined {
  const stated = Number(/(\d+(?:\.\d+)?)\s*ms\b/.exec(message)?.[1] ?? 0);
  const seconds = Number(SECONDS.exec(message)?.[1] ?? 0);
  const wait = stated > 0 ? stated : header === undefined ? seconds * 1000 : waitOfHeader(header, now);
  return Number.isFinite(wait) && wait > 0 ? Math.min(Math.ceil(wait), MAX_WAIT_MS) : undefined;
}

function waitOfHeader(header: string, now: number): number {
  return /^\d+(\.\d+)?$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
}

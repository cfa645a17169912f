import { BarlakeError, messageOf, ServiceError, TransportError, WireError } from "../core/errors.js";
import { PERMISSION_CODES } from "../wire/endpoints.js";
import { type ErrorCode, parseErrorBody, retryAfterMs } from "../wire/error-body.js";
import { decodedBody } from "./response-limits.js";

/** Most bytes of an error body that are read. */
const MAX_ERROR_BYTES = 65_536;

const NOT_OFFERED = "INTRADAY_UNAVAILABLE" satisfies ErrorCode;

interface Refusal {
  readonly status: number;
  readonly contentType: string;
  readonly retryAfter: string | undefined;
  readonly encoding: string | undefined;
  readonly body: AsyncIterable<Uint8Array>;
}

/** Turns a response that is not a success into an error with a hint. `what` names the request. */
export async function refusalError(what: string, refusal: Refusal, now: number): Promise<ServiceError> {
  const { status, contentType } = refusal;
  const text = await readStart(refusal);
  const body = parseErrorBody(text);
  if (body === undefined) {
    const kind = contentType.split(";")[0] || "an unknown type";
    return new ServiceError(
      `${what}: status ${status} with a body of ${kind} that is not the service's error body`,
      { status, code: `HTTP_${status}`, retryAfterMs: retryAfterMs("", refusal.retryAfter, now) },
      { hint: status >= 500 ? "a proxy or the service is not well; try again later" : hintFor(status, "") },
    );
  }
  return new ServiceError(
    `${what}: ${body.code} (status ${status}): ${body.message}`,
    {
      status,
      code: body.code,
      retryAfterMs: retryAfterMs(body.message, refusal.retryAfter, now),
      serverMessage: body.message,
    },
    { hint: hintFor(status, body.code) },
  );
}

/** Codes of a connection that nothing accepts. A name that cannot be resolved now, EAI_AGAIN, is none: that passes. */
const NOTHING_THERE: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection is refused",
  ENOTFOUND: "there is no such host",
};

/** Nothing accepts connections at a service's address, as where that is wrong. */
export class UnreachableError extends TransportError {
  get isUnknownHost(): boolean {
    return (this.cause as { code?: unknown }).code === "ENOTFOUND";
  }
}

/** The error where nothing accepts connections at the address of a service; undefined for any other. */
export function unreachable(host: string, error: unknown): UnreachableError | undefined {
  const { code = "" } = error as { code?: string };
  if (!Object.hasOwn(NOTHING_THERE, code)) return undefined;
  return new UnreachableError(`service ${host}: ${NOTHING_THERE[code]} (${code})`, {
    cause: error,
    hint: "check the address, which barlake config shows, and whether the service runs",
  });
}

/** Names the request in an error from a lower layer that handles only bytes. */
export function withRequest(what: string, error: unknown): unknown {
  if (error instanceof WireError) {
    const message = error.message.replace(/ \(at byte \d+\)$/, "");
    return new WireError(error.kind, `${what}: ${message}`, error.byteOffset, {
      cause: error,
      hint: error.hint,
    });
  }
  if (error instanceof ServiceError && error.status === 200) {
    const { status, code } = error;
    return new ServiceError(`${what}: ${error.message}`, { status, code }, { cause: error });
  }
  if (error instanceof BarlakeError || !isNetworkFault(error)) return error;
  return new TransportError(`${what}: ${reasonOf(error)}`, {
    cause: error,
    hint: "check the address and the network",
  });
}

/** Whether the service does not offer this at all: a 503 that waiting does not change. */
export function isNotOffered(error: unknown): boolean {
  return error instanceof ServiceError && error.code === NOT_OFFERED;
}

/**
 * Whether a service refuses what a request is about as a whole: the key may not ask for it, or there is no such
 * endpoint. An unknown symbol is neither.
 */
export function isEndpointRefusal(error: ServiceError): boolean {
  const unknownSymbol: ErrorCode = "SYMBOL_NOT_FOUND";
  return error.status === 403 || (error.status === 404 && error.code !== unknownSymbol);
}

/**
 * Whether the service itself states that it does not offer an endpoint to the key: a 403 with the code of a permission,
 * or a 404 with the code of an unknown path. The page of a proxy, or another code, may be a fault that passes.
 */
export function statesNotOffered({ status, code }: ServiceError): boolean {
  const unknownPath: ErrorCode = "NOT_FOUND";
  return status === 403 ? Object.hasOwn(PERMISSION_CODES, code) : status === 404 && code === unknownPath;
}

/** Whether the service refused a request for the key's quota: the next one waits, and this one is sent again. */
export function isOverQuota(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.status === 429;
}

/** Words for what a request can have too many of: the public service uses English and Chinese. */
const SYMBOLS = /symbol|instrument|ticker|标的|股票|代码/i;
const TOO_MANY =
  /too[ _-]?many|too[ _-]?large|limit|exceed|at most|max|more than|up to|over|between|超|最多|上限|不能大于/i;
/** The number that follows such a word, or a range's end. */
const LIMIT =
  /(?:limit|exceeds?|at most|max(?:imum)?|more than|up to|over|between \d+ and|\d+ (?:to|-)|超过|超出|最多|上限|不能大于)[^\d\n]{0,32}(\d{1,6})/i;

/**
 * Whether a request was refused for its number of symbols, so that two halves may pass: a 400 that says so, or a
 * request that is too large.
 */
export function isTooManySymbols(error: unknown): error is ServiceError {
  if (!(error instanceof ServiceError)) return false;
  const { status, code, serverMessage = "" } = error;
  if (status === 413 || status === 414) return true;
  return (
    status === 400 &&
    [code, serverMessage].some((text) => SYMBOLS.test(text)) &&
    TOO_MANY.test(`${code} ${serverMessage}`)
  );
}

/** The most symbols of a request that such a refusal gives; undefined where it gives none. */
export function symbolLimitOf(error: unknown): number | undefined {
  if (!isTooManySymbols(error) || !SYMBOLS.test(error.serverMessage ?? "")) return undefined;
  const limit = Number(LIMIT.exec(error.serverMessage ?? "")?.[1] ?? 0);
  return limit > 0 ? limit : undefined;
}

function hintFor(status: number, code: string): string | undefined {
  const permission = (PERMISSION_CODES as Readonly<Record<string, string>>)[code];
  if (permission !== undefined) return permission;
  if (code === NOT_OFFERED)
    return "this service has no intraday data; the pipeline minute asks for minutes by window";
  if (status === 401)
    return "this service needs a key: set BARLAKE_API_KEY, in the environment or in .env, to one that it knows";
  if (status === 403)
    return "the key has no permission for this; ask the service's owner, or leave this pipeline out";
  return undefined;
}

async function readStart({ body, encoding }: Refusal): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const piece of decodedBody(body, encoding)) {
      pieces.push(piece);
      length += piece.length;
      if (length >= MAX_ERROR_BYTES) break;
    }
  } catch {
    // The status is enough: a body that breaks off, or that cannot be decoded, adds nothing.
  }
  return Buffer.concat(pieces).toString("utf8");
}

/** Sockets, undici and zlib give their errors a code; an error without one is a bug of ours and is not converted. */
function isNetworkFault(error: unknown): boolean {
  const { code, name } = error as { code?: unknown; name?: unknown };
  return typeof code === "string" && name !== "AbortError";
}

/** undici wraps the reason of a failed connection. */
function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: unknown };
  return cause instanceof Error ? `${messageOf(error)} (${cause.message})` : messageOf(error);
}

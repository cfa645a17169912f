import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { AwsV4Signer } from "aws4fetch";
import pRetry from "p-retry";
import type { Agent } from "undici";
import { BarlakeError, messageOf, TransportError } from "../../core/errors.js";
import type { Clock } from "../../core/time.js";
import type { CredentialSource } from "../access/credential-source.js";
import type { StoreEndpoint } from "../access/store-endpoint.js";
import { encodeKey, encodePart } from "../object-address.js";
import {
  canPass,
  isBare404,
  isExpired,
  isSlowDown,
  ObjectStoreError,
  type RequestTarget,
  refusalError,
} from "./store-error.js";

type RequestKind =
  | "get"
  | "head"
  | "put"
  | "delete"
  | "list"
  | "beginUpload"
  | "uploadPart"
  | "completeUpload"
  | "abortUpload";

/** A request that was sent, for the first time or again. */
export interface SentRequest {
  readonly kind: RequestKind;
  /** Undefined for a list. */
  readonly key: string | undefined;
  /** 1, or higher where an earlier attempt failed. */
  readonly attempt: number;
}

/** A response whose body has not been read yet. */
export interface StoreResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Readable;
}

/** Passes on the bytes of a body. @throws {TransportError} where it ends before its Content-Length. */
export async function* countedPieces({ headers, body }: StoreResponse): AsyncGenerator<Uint8Array> {
  let length = 0;
  for await (const piece of body as AsyncIterable<Uint8Array>) {
    length += piece.length;
    yield piece;
  }
  const expected = headers["content-length"];
  if (expected !== undefined && Number(expected) !== length)
    throw new TransportError(`the response ended after ${length} of ${expected} bytes`);
}

/** @throws {TransportError} where the body is larger than the limit, or incomplete. */
export async function readWhole(response: StoreResponse, maxBytes: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of countedPieces(response)) {
    length += piece.length;
    if (length > maxBytes) throw new TransportError(`the response is larger than ${maxBytes} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces, length);
}

/** Reads a short or empty body to its end, so that its connection can be used again. */
export async function expectNothing(response: StoreResponse): Promise<void> {
  await readWhole(response, 65_536);
}

/** The body of a request. It is opened again for each attempt. */
export interface RequestBody {
  readonly length: number;
  /** The hash in hexadecimal digits. The store refuses a body with another hash. */
  readonly sha256: string;
  readonly open: () => Uint8Array | Readable;
}

interface StoreRequest {
  readonly kind: RequestKind;
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  /** Undefined for a request about the bucket. */
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: RequestBody;
}

export interface TransportOptions {
  readonly bucket: string;
  readonly endpoint: StoreEndpoint;
  readonly credentials: CredentialSource;
  /** The clock of this machine. It dates signatures, which stores refuse of another time, and times the waits. */
  readonly clock: Pick<Clock, "now" | "sleep">;
  /** Called with each request that is sent. */
  readonly onRequest?: ((sent: SentRequest) => void) | undefined;
  /** How many times a failed request is sent again. @default 8 */
  readonly retries?: number | undefined;
  /** Least wait before the first retry, in milliseconds; it is random up to twice that, and doubles. @default 100 */
  readonly backoffMs?: number | undefined;
  /** Longest wait for a connection, a response, and between pieces of its body, in milliseconds. @default 30000 */
  readonly timeoutMs?: number | undefined;
}

/** Sends signed requests to a bucket, repeats them where that can help, and throws errors with a hint. */
export interface StoreTransport {
  /**
   * Sends a request until it succeeds. @param read reads the response. If it fails, the request is sent again. The
   * caller must read or destroy a body that it leaves open. @throws {ObjectStoreError} where the store refuses the
   * request; {@link TransportError} where there is no response to the last attempt.
   */
  send<T>(sent: StoreRequest, read: (response: StoreResponse) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Most retries for a store that this process has not reached yet, because its address is probably wrong. */
const FIRST_CONTACT_RETRIES = 2;
/** Most attempts that end because the store does not respond in time: each takes as long as the timeout. */
const MOST_TIMEOUTS = 3;
/** Longest wait between two attempts, in milliseconds. */
const MAX_BACKOFF_MS = 20_000;
/** Most bytes of an error body that are read. */
const MAX_ERROR_BYTES = 65_536;
/** The factor by which waits are longer if a store requests a lower rate. */
const SLOW_DOWN_FACTOR = 5;

/** Makes a transport. It opens connections to the store when they are needed. */
export function storeTransport(options: TransportOptions): StoreTransport {
  const { bucket, endpoint, credentials, clock, retries = 8, backoffMs = 100, timeoutMs = 30_000 } = options;
  // The HTTP library is loaded with the first request, because most lakes are not in a store.
  let connections: Promise<Agent> | undefined;
  const connect = async (): Promise<Agent> =>
    new (await import("undici")).default.Agent({
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      connect: { timeout: timeoutMs },
    });
  const signingKeys = new Map<string, ArrayBuffer>();
  const base = baseOf(bucket, endpoint);
  let isReached = false;
  /** Whether the bucket is known to exist with these credentials. */
  let isProven = false;

  const sign = async (sent: StoreRequest, url: string): Promise<Record<string, string>> => {
    const { accessKeyId, secretAccessKey, sessionToken } = await credentials.current();
    if (signingKeys.size > 16) signingKeys.clear();
    const signer = new AwsV4Signer({
      method: sent.method,
      url,
      headers: { ...sent.headers, "x-amz-content-sha256": sent.body?.sha256 ?? EMPTY_SHA256 },
      accessKeyId,
      secretAccessKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
      service: "s3",
      region: endpoint.region,
      cache: signingKeys,
      datetime: new Date(clock.now()).toISOString().replaceAll(/[:-]|\.\d{3}/g, ""),
    });
    return Object.fromEntries((await signer.sign()).headers);
  };

  const once = async <T>(
    sent: StoreRequest,
    attempt: number,
    read: (response: StoreResponse) => Promise<T>,
  ): Promise<T> => {
    const url = urlOf(base, sent);
    const headers = await sign(sent, url);
    const { request } = (await import("undici")).default;
    const agent = await (connections ??= connect());
    const what = `${sent.method} s3://${bucket}/${sent.key ?? ""}`;
    let body: Readable | undefined;
    let isRead = false;
    try {
      options.onRequest?.({ kind: sent.kind, key: sent.key, attempt });
      const response = await request(url, {
        method: sent.method,
        dispatcher: agent,
        headers:
          sent.body === undefined ? headers : { ...headers, "content-length": String(sent.body.length) },
        body: sent.body?.open() ?? null,
      });
      isReached = true;
      body = response.body.on("error", () => {});
      const received = { status: response.statusCode, headers: plainHeaders(response.headers), body };
      if (received.status < 200 || received.status > 299) {
        const target = { what, bucket, endpoint: endpoint.url, region: endpoint.region, now: clock.now() };
        const refusal = await readRefusal(target, received);
        isProven ||= refusal.code === "NoSuchKey";
        throw refusal;
      }
      isProven = true;
      const value = await read(received);
      isRead = true;
      return value;
    } catch (error) {
      throw withRequest(what, endpoint, error, timeoutMs);
    } finally {
      // A body that is not read to its end would otherwise occupy its connection.
      if (!isRead) body?.destroy();
    }
  };

  return {
    async send(sent, read) {
      let attempts = 0;
      let timeouts = 0;
      let isRenewed = false;
      const canHelp = (error: Error): boolean => {
        if (isExpired(error) && !isRenewed) {
          isRenewed = true;
          credentials.renew();
          return true;
        }
        // An error response to HEAD never has a code: see `readFacts`.
        if (isBare404(error))
          return sent.method !== "HEAD" && (isProven || attempts <= FIRST_CONTACT_RETRIES);
        // After a conflict with another write, the parts of an upload must be sent again, too; the caller does this.
        if (error instanceof ObjectStoreError)
          return canPass(error) && !(sent.kind === "completeUpload" && error.status === 409);
        if (isTimeout(error) && ++timeouts === MOST_TIMEOUTS) return false;
        return isTransient(error) && (isReached || !isUnreached(error) || attempts <= FIRST_CONTACT_RETRIES);
      };
      return pRetry(() => once(sent, ++attempts, read), {
        retries,
        // The waits use the clock in the options.
        minTimeout: 0,
        onFailedAttempt: ({ error }) => {
          if (error instanceof ObjectStoreError) error.attempts = attempts;
        },
        shouldRetry: async ({ error }) => {
          if (!canHelp(error)) return false;
          const factor = isSlowDown(error) ? SLOW_DOWN_FACTOR : 1;
          const backoff = factor * backoffMs * 2 ** (attempts - 1) * (1 + Math.random());
          const requested = error instanceof ObjectStoreError ? (error.retryAfterMs ?? 0) : 0;
          await clock.sleep(Math.min(MAX_BACKOFF_MS, Math.max(requested, Math.ceil(backoff))));
          return true;
        },
      });
    },
    close: async () => (await connections)?.close(),
  };
}

const EMPTY_SHA256 = createHash("sha256").digest("hex");

function baseOf(bucket: string, { url, isPathStyle }: StoreEndpoint): string {
  return isPathStyle ? `${url}/${encodePart(bucket)}` : url.replace("://", `://${bucket}.`);
}

function urlOf(base: string, { key, query = {} }: StoreRequest): string {
  const search = Object.entries(query).map(([name, value]) => `${encodePart(name)}=${encodePart(value)}`);
  const path = key === undefined ? base : `${base}/${encodeKey(key)}`;
  return search.length === 0 ? path : `${path}?${search.join("&")}`;
}

function plainHeaders(
  headers: Record<string, string | string[] | undefined>,
): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value?.toString()]));
}

async function readRefusal(target: RequestTarget, response: StoreResponse): Promise<ObjectStoreError> {
  // The status is sufficient if the body is incomplete.
  const body = await readWhole(response, MAX_ERROR_BYTES).catch(() => Buffer.alloc(0));
  return refusalError(target, {
    status: response.status,
    headers: response.headers,
    body: body.toString("utf8"),
  });
}

/** Error codes of connections that do not succeed when they are repeated. */
const TLS_FAULT = /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/;
/** Error codes of connections to an address without a store. */
const UNREACHED = /^(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

function isUnreached(error: Error): boolean {
  return UNREACHED.test(codeOf(error.cause));
}

/** What undici's error codes of requests say that took too long. */
const TIMEOUTS: Readonly<Record<string, string>> = {
  UND_ERR_HEADERS_TIMEOUT: "no response",
  UND_ERR_BODY_TIMEOUT: "no further byte of the response",
};

function isTimeout(error: Error): boolean {
  return Object.hasOwn(TIMEOUTS, codeOf(error.cause));
}

function isTransient(error: unknown): boolean {
  if (!(error instanceof TransportError)) return false;
  return !TLS_FAULT.test(codeOf(error.cause));
}

function withRequest(what: string, endpoint: StoreEndpoint, error: unknown, timeoutMs: number): unknown {
  if (error instanceof ObjectStoreError) return error;
  if (error instanceof TransportError)
    return new TransportError(`${what}: ${error.message}`, { cause: error.cause, hint: error.hint });
  const code = codeOf(error);
  if (error instanceof BarlakeError || code === "") return error;
  if (Object.hasOwn(TIMEOUTS, code))
    return new TransportError(`${what}: ${endpoint.url}: ${TIMEOUTS[code]} within ${timeoutMs / 1000} s`, {
      cause: error,
      hint: "the store or the network to it hangs; look at it, and run the command again",
    });
  const isTls = TLS_FAULT.test(code) || code === "EPROTO";
  const hint = isTls
    ? "the certificate of the store is not trusted: see NODE_EXTRA_CA_CERTS; a store without TLS has an endpoint that begins with http://"
    : UNREACHED.test(code)
      ? "no store is there: see AWS_ENDPOINT_URL_S3, AWS_REGION and the network"
      : "check the network, and AWS_ENDPOINT_URL_S3";
  return new TransportError(`${what}: ${endpoint.url}: ${reasonOf(error)}`, { cause: error, hint });
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "string" ? code : "";
}

/** Errors of connections to several addresses have no message; errors of undici have a cause. */
function reasonOf(error: unknown): string {
  const { cause, errors } = error as { cause?: unknown; errors?: unknown };
  if (Array.isArray(errors) && errors.length > 0) return errors.map(messageOf).join("; ");
  return cause instanceof Error ? `${messageOf(error)} (${cause.message})` : messageOf(error);
}

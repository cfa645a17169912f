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
import type { RequestKind, SentRequest } from "./request-counts.js";
import { readWhole, type StoreResponse } from "./response-body.js";
import {
  canPass,
  isBare404,
  isExpired,
  isSlowDown,
  ObjectStoreError,
  type RequestTarget,
  refusalError,
} from "./store-error.js";

/** What a request sends. It is opened again for each attempt. */
export interface RequestBody {
  readonly length: number;
  /** In hexadecimal digits: the store refuses other bytes. */
  readonly sha256: string;
  readonly open: () => Uint8Array | Readable;
}

/** A request to a bucket. */
export interface StoreRequest {
  readonly kind: RequestKind;
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  /** Undefined for the bucket. */
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: RequestBody;
}

/** How requests are sent. */
export interface TransportOptions {
  readonly bucket: string;
  readonly endpoint: StoreEndpoint;
  readonly credentials: CredentialSource;
  /** The clock of this machine: it dates signatures, and waits between attempts. */
  readonly clock: Pick<Clock, "now" | "sleep">;
  readonly onRequest?: ((sent: SentRequest) => void) | undefined;
  /** How often a request that failed is sent again. @default 8 */
  readonly retries?: number | undefined;
  /** Wait before the first retry, up to twice that, in milliseconds; it doubles. @default 100 */
  readonly backoffMs?: number | undefined;
  /** Longest wait for a connection, for a response, and between two pieces of its body. @default 30000 */
  readonly timeoutMs?: number | undefined;
}

/** Sends requests to a bucket: signed, repeated where that can help, with errors that say what to do. */
export interface StoreTransport {
  /**
   * Sends a request until it succeeds.
   *
   * @param read reads the response; where it fails, the request is sent again. A body that it leaves open must be read,
   *   or destroyed, by the caller.
   * @throws {ObjectStoreError} refused; {@link TransportError} no response, at the last attempt.
   */
  send<T>(sent: StoreRequest, read: (response: StoreResponse) => Promise<T>): Promise<T>;
  /** Closes the connections. */
  close(): Promise<void>;
}

/** Retries of a store that this process has not reached yet: its address is probably wrong. */
const FIRST_CONTACT_RETRIES = 2;
/** Longest wait between two attempts. */
const MAX_BACKOFF_MS = 20_000;
/** Most bytes of an error body that are read. */
const MAX_ERROR_BYTES = 65_536;
/** A store that asks for fewer requests gets a wait that many times as long. */
const SLOW_DOWN_FACTOR = 5;

/** Opens connections to the store as they are needed. */
export function storeTransport(options: TransportOptions): StoreTransport {
  const { bucket, endpoint, credentials, clock, retries = 8, backoffMs = 100, timeoutMs = 30_000 } = options;
  // The library of HTTP is loaded with the first request: most lakes are not in a store.
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
  /** Whether the bucket is known to exist for these credentials. */
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
      throw withRequest(what, endpoint, error);
    } finally {
      // A body that was not read to its end would otherwise hold its connection.
      if (!isRead) body?.destroy();
    }
  };

  return {
    async send(sent, read) {
      let attempts = 0;
      let isRenewed = false;
      const canHelp = (error: Error): boolean => {
        if (isExpired(error) && !isRenewed) {
          isRenewed = true;
          credentials.renew();
          return true;
        }
        // That of HEAD never has a code: see readFacts.
        if (isBare404(error))
          return sent.method !== "HEAD" && (isProven || attempts <= FIRST_CONTACT_RETRIES);
        // The parts of an upload that conflicts with another write must be sent again, too.
        if (error instanceof ObjectStoreError)
          return canPass(error) && !(sent.kind === "completeUpload" && error.status === 409);
        return isTransient(error) && (isReached || !isUnreached(error) || attempts <= FIRST_CONTACT_RETRIES);
      };
      return pRetry(() => once(sent, ++attempts, read), {
        retries,
        // The waits use the clock of the options.
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
  // The status is enough where the body breaks off.
  const body = await readWhole(response, MAX_ERROR_BYTES).catch(() => Buffer.alloc(0));
  return refusalError(target, {
    status: response.status,
    headers: response.headers,
    body: body.toString("utf8"),
  });
}

/** Codes of connections that a repetition does not heal. */
const TLS_FAULT = /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/;
/** Codes of connections to where no store is. */
const UNREACHED = /^(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

function isUnreached(error: Error): boolean {
  return UNREACHED.test(codeOf(error.cause));
}

function isTransient(error: unknown): boolean {
  if (!(error instanceof TransportError)) return false;
  return !TLS_FAULT.test(codeOf(error.cause));
}

/** Turns the error of a connection into one that names the request and says what to do. */
function withRequest(what: string, endpoint: StoreEndpoint, error: unknown): unknown {
  if (error instanceof ObjectStoreError) return error;
  if (error instanceof TransportError)
    return new TransportError(`${what}: ${error.message}`, { cause: error.cause, hint: error.hint });
  const code = codeOf(error);
  if (error instanceof BarlakeError || code === "") return error;
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

/** Errors of connections to several addresses have no message, and those of undici a cause. */
function reasonOf(error: unknown): string {
  const { cause, errors } = error as { cause?: unknown; errors?: unknown };
  if (Array.isArray(errors) && errors.length > 0) return errors.map(messageOf).join("; ");
  return cause instanceof Error ? `${messageOf(error)} (${cause.message})` : messageOf(error);
}

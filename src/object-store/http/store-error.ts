import { BarlakeError, type ErrorOptionsWithHint } from "../../core/errors.js";
import { parseXml, textOf } from "./list-page.js";

/** The error where an object store refuses a request, or its response breaks the rules of the interface. */
export class ObjectStoreError extends BarlakeError {
  readonly status: number;
  /** The store's code, such as `AccessDenied`; `HTTP_<status>` where the response has none. */
  readonly code: string;
  /** How long to wait according to the store, in milliseconds; undefined where it states none. */
  readonly retryAfterMs: number | undefined;
  /** How many times the request was sent. If more than once, an earlier attempt may have had an effect. */
  attempts = 1;

  constructor(
    message: string,
    facts: { readonly status: number; readonly code: string; readonly retryAfterMs?: number | undefined },
    options: ErrorOptionsWithHint = {},
  ) {
    super(message, options);
    this.status = facts.status;
    this.code = facts.code;
    this.retryAfterMs = facts.retryAfterMs;
  }
}

interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

export interface RequestTarget {
  /** A description of the request, without its signature. */
  readonly what: string;
  readonly bucket: string;
  readonly endpoint: string;
  readonly region: string;
  /** Epoch milliseconds by the clock of this machine. */
  readonly now: number;
}

const NO_KEY = new Set(["NoSuchKey", "NotFound"]);
/** The second code is used by versitygw, with status 404. */
const UNKNOWN_KEY = new Set(["InvalidAccessKeyId", "XAdminUserNotFound"]);
const EXPIRED = new Set(["ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"]);
/** Codes with a status below 500 after which the same request may succeed. */
const PASSING = new Set([
  "RequestTimeout",
  "SlowDown",
  "BadDigest",
  "InvalidDigest",
  "XAmzContentSHA256Mismatch",
  "IncompleteBody",
  "ConditionalRequestConflict",
  "OperationAborted",
]);

export function isMissing(error: unknown): boolean {
  return error instanceof ObjectStoreError && error.status === 404 && NO_KEY.has(error.code);
}

/** A status 404 without a code may come from a proxy in front of the store, and shows nothing. */
export function isBare404(error: unknown): boolean {
  return error instanceof ObjectStoreError && error.code === "HTTP_404";
}

export const LIST_LAGS = "ListLags";

export function isListLag(error: unknown): boolean {
  return error instanceof ObjectStoreError && error.code === LIST_LAGS;
}

/** Whether an error means that the condition of a write was not met. */
export function isConditionFailed(error: unknown): boolean {
  return error instanceof ObjectStoreError && error.status === 412;
}

export function isExpired(error: unknown): boolean {
  return error instanceof ObjectStoreError && EXPIRED.has(error.code);
}

export function isSlowDown(error: unknown): boolean {
  return error instanceof ObjectStoreError && (error.status === 503 || error.status === 429);
}

/** Whether the same request may succeed later. */
export function canPass(error: ObjectStoreError): boolean {
  const { status, code } = error;
  if (status === 501) return false;
  return status >= 500 || status === 429 || status === 409 || status === 408 || PASSING.has(code);
}

/** Reads the code and the message of an error body. Both are empty where it is not an error body. */
export function parseErrorDocument(body: string): { code: string; message: string; region: string } {
  try {
    const root = parseXml(body);
    if (root.name !== "Error") return { code: "", message: "", region: "" };
    return {
      code: textOf(root, "Code")?.trim() ?? "",
      message: textOf(root, "Message")?.trim() ?? "",
      region: textOf(root, "Region")?.trim() ?? "",
    };
  } catch {
    return { code: "", message: "", region: "" };
  }
}

export function refusalError(target: RequestTarget, refusal: Refusal): ObjectStoreError {
  const { status, headers, body } = refusal;
  const { code, message, region } = parseErrorDocument(body);
  const regionThere = headers["x-amz-bucket-region"] || region;
  const said = code === "" ? `status ${status}` : `${code} (status ${status})${message && `: ${message}`}`;
  const retryAfter = Number(headers["retry-after"]);
  return new ObjectStoreError(
    `${target.what}: ${said}`,
    {
      status,
      code: code || `HTTP_${status}`,
      retryAfterMs: Number.isFinite(retryAfter) && retryAfter > 0 ? retryAfter * 1000 : undefined,
    },
    { hint: hintOf(target, { status, code, region: regionThere, date: headers.date }) },
  );
}

function hintOf(
  { bucket, endpoint, region, now }: RequestTarget,
  refusal: { status: number; code: string; region: string; date: string | undefined },
): string | undefined {
  const { status, code } = refusal;
  if (code === "RequestTimeTooSkewed" || code === "RequestExpired") {
    const aheadMs = now - Date.parse(refusal.date ?? "");
    const howFar = Number.isFinite(aheadMs)
      ? `: it is ${Math.round(Math.abs(aheadMs) / 1000)} s ${aheadMs > 0 ? "ahead of" : "behind"} the store's`
      : "";
    return `set the clock of this machine${howFar}`;
  }
  if (code === "NoSuchBucket") return `make the bucket ${bucket} first, or correct its name`;
  if (
    status === 301 ||
    status === 302 ||
    status === 307 ||
    status === 308 ||
    code === "AuthorizationHeaderMalformed"
  )
    return refusal.region !== "" && refusal.region !== region
      ? `the bucket is in region ${refusal.region}, and ${region} was asked: set AWS_REGION=${refusal.region}`
      : `the bucket is at another address than ${endpoint}: set AWS_REGION and AWS_ENDPOINT_URL_S3 as its owner says`;
  if (EXPIRED.has(code) || code === "InvalidToken")
    return "the credentials have expired: get new ones (aws sso login, for example), and run the command again";
  if (UNKNOWN_KEY.has(code))
    return "the store does not know this access key: see AWS_ACCESS_KEY_ID, AWS_PROFILE and AWS_ENDPOINT_URL_S3";
  if (code === "SignatureDoesNotMatch")
    return "the secret key does not belong to the access key: see AWS_SECRET_ACCESS_KEY or the profile";
  if (status === 401 || status === 403)
    return `these credentials may not do this: they need s3:ListBucket on ${bucket}, and s3:GetObject, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload on its objects`;
  if (status === 501 || code === "NotImplemented")
    return "the store lacks a feature that a lake needs; docs/beyond-one-machine.md names stores that work";
  if (status === 404)
    return `${endpoint} is no S3 interface, or not this bucket's, or a proxy before it cannot reach it: see AWS_ENDPOINT_URL_S3, or try again later`;
  if (status >= 500 || status === 429) return "the store is overloaded or not well; try again later";
  return undefined;
}

import { isStoreFault } from "../../lake/storage/store-fault.js";
import { ERROR_STATUS, type ErrorBody, type ErrorCode } from "../../wire/error-body.js";
import { ParameterError } from "../../wire/parameters.js";

export class RequestError extends Error {
  readonly code: ErrorCode;
  /** Milliseconds that the client should wait; undefined where waiting does not help. */
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, retryAfterMs?: number) {
    super(message);
    this.name = "RequestError";
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Whether an error says which rule a request breaks, or that what it asks for is not there: the service is well. */
export function isOfRequest(error: unknown): error is RequestError | ParameterError {
  return error instanceof RequestError || error instanceof ParameterError;
}

/** An error as the client receives it. It reveals no files, SQL or code. */
interface ErrorResponse {
  readonly status: number;
  readonly body: ErrorBody;
  readonly retryAfterMs: number | undefined;
  /** Whether the service caused the error; its cause is then logged. */
  readonly isFault: boolean;
}

const FRAMEWORK_CODES: Readonly<Record<string, readonly [code: ErrorCode, message: string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ["PAYLOAD_TOO_LARGE", "body is larger than 1 MiB"],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ["INVALID_PARAMETER", "content-type is not application/json"],
  FST_ERR_CTP_EMPTY_JSON_BODY: ["INVALID_PARAMETER", "body is required"],
  FST_ERR_CTP_INVALID_JSON_BODY: ["INVALID_PARAMETER", "body is not JSON"],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ["INVALID_PARAMETER", "body is not as long as content-length says"],
  FST_ERR_BAD_URL: ["INVALID_PARAMETER", "path is not a valid URL path"],
  FST_ERR_MAX_PARAM_LENGTH: ["NOT_FOUND", "path has a part that is too long"],
};

/** How long a client should wait until the store of the lake is tried again. */
const STORE_RETRY_MS = 5000;

export function responseOf(error: unknown, requestId: string): ErrorResponse {
  if (error instanceof RequestError) return plain(error.code, error.message, error.retryAfterMs);
  if (isOfRequest(error)) return plain(error.code, error.message);
  const { code, statusCode } = error as { code?: string; statusCode?: number };
  const known = code === undefined ? undefined : FRAMEWORK_CODES[code];
  if (known !== undefined) return plain(...known);
  if (statusCode === 413) return plain("PAYLOAD_TOO_LARGE", "body is larger than 1 MiB");
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return plain("INVALID_PARAMETER", "body is not JSON");
  }
  if (isStoreFault(error)) {
    const message =
      "the lake cannot be read now: its store cannot be reached, or is not well; try again later";
    return { ...plain("LAKE_UNAVAILABLE", message, STORE_RETRY_MS), isFault: true };
  }
  const message = `request ${requestId} failed; the service's log has the cause`;
  return { ...plain("INTERNAL", message), isFault: true };
}

function plain(code: ErrorCode, message: string, retryAfterMs?: number): ErrorResponse {
  return { status: ERROR_STATUS[code], body: { code, message }, retryAfterMs, isFault: false };
}

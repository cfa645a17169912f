import pRetry from "p-retry";
import { ServiceError, TransportError, WireError } from "../core/errors.js";
import type { Clock } from "../core/time.js";
import { isNotOffered, isOverQuota } from "./response-error.js";

/** Refusals for the quota after which a request fails: eight minutes of them, where none says how long to wait. */
const MAX_REFUSALS = 24;

export interface RetryOptions {
  readonly clock: Clock;
  /** How often a request that failed is sent again; refusals for the quota do not count. */
  readonly retries: number;
  /** Wait before the first retry, up to twice that, in milliseconds; it doubles. */
  readonly backoffMs: number;
  /** Ends the retries. */
  readonly signal: AbortSignal | undefined;
  /** Ends a wait between two attempts. */
  readonly unsent: AbortSignal | undefined;
}

/**
 * Sends a request, and sends it again while that can help: at once after a refusal for the quota, because `send` waits
 * for its permit itself, and after a wait that doubles in all other cases. The service may ask for a longer wait.
 *
 * @throws the error of the last attempt.
 */
export async function withRetries<T>(
  send: () => Promise<T>,
  { clock, retries, backoffMs, signal, unsent }: RetryOptions,
): Promise<T> {
  let refusals = 0;
  const sendInQuota = async (): Promise<T> => {
    for (;;) {
      try {
        return await send();
      } catch (error) {
        if (!isOverQuota(error) || ++refusals > MAX_REFUSALS) throw error;
      }
    }
  };
  return await pRetry(sendInQuota, {
    retries,
    // The waits use the clock of the options.
    minTimeout: 0,
    ...(signal ? { signal } : {}),
    shouldRetry: ({ error }) => isRetryable(error),
    onFailedAttempt: async ({ error, attemptNumber, retriesLeft }) => {
      if (retriesLeft === 0 || !isRetryable(error)) return;
      const requestedMs = error instanceof ServiceError ? (error.retryAfterMs ?? 0) : 0;
      const backoff = backoffMs * 2 ** (attemptNumber - 1) * (1 + Math.random());
      await clock.sleep(Math.max(requestedMs, Math.ceil(backoff)), unsent);
    },
  });
}

/** Whether sending a failed request again can help; refusals for the quota are counted elsewhere. */
function isRetryable(error: unknown): boolean {
  if (error instanceof TransportError) return true;
  if (error instanceof WireError) return error.kind === "truncated" || error.kind === "not_json";
  return (
    error instanceof ServiceError && !isNotOffered(error) && (error.status >= 500 || error.status === 408)
  );
}

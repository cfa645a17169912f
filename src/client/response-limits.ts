import { TransportError, WireError } from "../core/errors.js";
import { type Clock, ticksOf } from "../core/time.js";

/** Limits of the time and the size of a response, so that no wait is endless. */
export interface ResponseLimits {
  /** Least bytes a second, as sent, on average over {@link rateIntervalMs}; 0: any speed. @default 1024 */
  readonly minBytesPerSecond: number;
  /** Time over which the speed is measured, in milliseconds. @default 60000 */
  readonly rateIntervalMs: number;
  /** Longest time that one response may take, in milliseconds. @default 1800000 */
  readonly maxResponseMs: number;
  /** Most bytes of one response, uncompressed. @default 1073741824 */
  readonly maxBodyBytes: number;
}

/** Limits that a connection of 1 kB a second and the largest response of the interface (some 100 MB) meet. */
export const RESPONSE_LIMITS: ResponseLimits = {
  minBytesPerSecond: 1024,
  rateIntervalMs: 60_000,
  maxResponseMs: 30 * 60_000,
  maxBodyBytes: 1024 ** 3,
};

/**
 * Passes on the bytes of a body as they were sent, while they arrive fast enough. Only time spent waiting for the service
 * counts, not that of a slow reader. A silent connection is ended by the HTTP client, not here.
 *
 * @throws {TransportError} for a body that is too slow or takes too long: sending the request again can help.
 */
export async function* timely(
  body: AsyncIterable<Uint8Array>,
  limits: ResponseLimits,
  clock: Clock,
): AsyncGenerator<Uint8Array> {
  const { minBytesPerSecond, rateIntervalMs, maxResponseMs } = limits;
  const interval = { waitedMs: 0, bytes: 0 };
  let [waitedMs, bytes] = [0, 0];
  let since = ticksOf(clock);
  for await (const piece of body) {
    const waited = ticksOf(clock) - since;
    waitedMs += waited;
    bytes += piece.length;
    interval.waitedMs += waited;
    interval.bytes += piece.length;
    if (waitedMs > maxResponseMs)
      throw tooSlow(
        `response is not complete after ${inWords(waitedMs)}, with ${bytes} bytes so far`,
        `maximum is ${inWords(maxResponseMs)}`,
      );
    if (interval.waitedMs >= rateIntervalMs) {
      if (interval.bytes * 1000 < minBytesPerSecond * interval.waitedMs)
        throw tooSlow(
          `response came at ${inWords(interval.waitedMs)} for ${interval.bytes} bytes, ${bytes} bytes so far`,
          `minimum is ${minBytesPerSecond} bytes a second`,
        );
      interval.waitedMs = 0;
      interval.bytes = 0;
    }
    yield piece;
    since = ticksOf(clock);
  }
}

/**
 * Passes on the uncompressed bytes of a body, up to the limit.
 *
 * @throws {WireError} for a larger body: sending the request again would not help.
 */
export async function* bounded(
  body: AsyncIterable<Uint8Array>,
  { maxBodyBytes }: ResponseLimits,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > maxBodyBytes)
      throw new WireError("limit", `response is larger than ${maxBodyBytes} bytes`, maxBodyBytes, {
        hint: "no response of the interface is that large; check proxies between this machine and the service",
      });
    yield piece;
  }
}

/** Most interim responses (status 1xx) of one request; no service of the interface sends any. */
const MOST_INTERIM = 20;

/**
 * Counts the interim responses of a request, because each one restarts the HTTP client's wait for the head.
 *
 * @returns a function to call with each one; it throws a {@link TransportError} where there are too many.
 */
export function interimLimit(): () => void {
  let count = 0;
  return () => {
    if (++count > MOST_INTERIM)
      throw new TransportError(`more than ${MOST_INTERIM} interim responses, and none that ends the request`);
  };
}

function tooSlow(what: string, bound: string): TransportError {
  return new TransportError(`${what}; the ${bound}`, {
    hint: "try again later; on a very slow line use --min-speed and --max-response-minutes",
  });
}

function inWords(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}

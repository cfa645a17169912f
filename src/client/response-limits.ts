import { TransportError, WireError } from "../core/errors.js";
import { type Clock, ticksOf } from "../core/time.js";

/** How long and how large a response may be, so that none is waited for without end. */
export interface ResponseLimits {
  /** Least bytes a second, as sent, on average over {@link rateIntervalMs}; 0: any speed. @default 1024 */
  readonly minBytesPerSecond: number;
  /** Time over which the speed is measured, in milliseconds. @default 60000 */
  readonly rateIntervalMs: number;
  /** Longest time that one response is waited for, in milliseconds. @default 1800000 */
  readonly maxResponseMs: number;
  /** Most bytes of one response, uncompressed. @default 1073741824 */
  readonly maxBodyBytes: number;
}

/** Limits that a line of 1 kB a second and the largest response of the interface (some 100 MB) keep. */
export const RESPONSE_LIMITS: ResponseLimits = {
  minBytesPerSecond: 1024,
  rateIntervalMs: 60_000,
  maxResponseMs: 30 * 60_000,
  maxBodyBytes: 1024 ** 3,
};

/**
 * Hands on the bytes of a body as they were sent, while they come fast enough. Only time spent waiting for the service
 * counts: a slow reader is not its fault. A silence is not seen here, as nothing arrives: the HTTP client ends it.
 *
 * @throws {TransportError} for a body that is too slow, or takes too long: asking again can help.
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
 * Hands on the uncompressed bytes of a body, up to the most that are allowed.
 *
 * @throws {WireError} for a body that is larger: asking again would not change it.
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
        hint: "no response of the interface is that large; see what stands before the service",
      });
    yield piece;
  }
}

/** Interim responses (status 1xx) that one request may have; no service of the interface sends any. */
const MOST_INTERIM = 20;

/**
 * Counts the interim responses of a request: each one starts the HTTP client's wait for the head anew.
 *
 * @throws {TransportError} from the function that is called with each of them, where there are too many.
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

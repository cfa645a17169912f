import { Duplex, pipeline, Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";
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

/** Size of a decompressor's output chunks in bytes; the default of zlib is a quarter of it. */
const OPTIONS = { chunkSize: 65_536 };
/** Most content codings of one response; no honest service uses more. */
const MAX_CODINGS = 2;

const DECODERS: Readonly<Record<string, () => Duplex>> = {
  gzip: () => createGunzip(OPTIONS),
  "x-gzip": () => createGunzip(OPTIONS),
  deflate: () => Duplex.from(inflated),
  br: () => createBrotliDecompress(OPTIONS),
};

/** The codings that {@link decodedBody} decodes, as the value of an accept-encoding header. */
const ACCEPTED_ENCODINGS = "gzip, deflate, br";

const THIS_MACHINE = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Value of the accept-encoding header. On this machine it is `identity`: compressing takes longer than sending. */
export function encodingsFor({ hostname }: URL): string {
  return THIS_MACHINE.has(hostname) ? "identity" : ACCEPTED_ENCODINGS;
}

/**
 * A body without its content codings, decoded as it arrives. When the reader stops early, the body is destroyed.
 *
 * @param header the response's content-encoding.
 * @throws {WireError} for an unknown coding: sending the request again would not help. A body that breaks off throws
 *   while it is read.
 */
export function decodedBody(
  body: AsyncIterable<Uint8Array>,
  header: string | undefined,
): AsyncIterable<Uint8Array> {
  const names = (header ?? "").toLowerCase().split(",");
  const codings = names.map((name) => name.trim()).filter((name) => name !== "" && name !== "identity");
  if (codings.length === 0) return body;
  const decoders = codings
    .toReversed()
    .map((name) => (Object.hasOwn(DECODERS, name) ? DECODERS[name] : undefined));
  if (decoders.length > MAX_CODINGS || decoders.includes(undefined)) {
    if (body instanceof Readable) body.destroy();
    throw new WireError(
      "malformed",
      `response has the unknown content-encoding "${header?.slice(0, 64)}"`,
      0,
      {
        hint: `the service, or a proxy before it, sends another encoding than was asked for: ${ACCEPTED_ENCODINGS}`,
      },
    );
  }
  let decoded: AsyncIterable<Uint8Array> = body;
  for (const decoder of decoders) decoded = pipeline(decoded, (decoder as () => Duplex)(), ignore);
  return decoded;
}

/** Decodes "deflate". RFC 9110 means the zlib format by it, but some services send raw deflate data. */
async function* inflated(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const pieces = body[Symbol.asyncIterator]();
  const first = await pieces.next();
  if (first.done === true) return;
  const whole = async function* (): AsyncGenerator<Uint8Array> {
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => pieces };
  };
  const inflate = isZlib(first.value) ? createInflate(OPTIONS) : createInflateRaw(OPTIONS);
  yield* pipeline(Readable.from(whole()), inflate, ignore) as AsyncIterable<Uint8Array>;
}

/** The lower four bits of a zlib header's first byte are the method: 8 is deflate. */
function isZlib(start: Uint8Array): boolean {
  return ((start[0] ?? 0) & 0x0f) === 8;
}

/** The error also reaches the reader, so the callback ignores it. */
function ignore(): void {}

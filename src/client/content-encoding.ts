import { Duplex, pipeline, Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";
import { WireError } from "../core/errors.js";

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

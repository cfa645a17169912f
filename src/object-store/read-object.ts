import { TransportError } from "../core/errors.js";
import { wholeSeconds } from "./http/list-page.js";
import { ObjectStoreError } from "./http/store-error.js";
import {
  countedPieces,
  expectNothing,
  readWhole,
  type StoreResponse,
  type StoreTransport,
} from "./http/store-transport.js";

/** Facts that a store has about an object, in addition to its content. */
export interface ObjectFacts {
  readonly size: number;
  /** Epoch milliseconds by the clock of the store, in whole seconds. */
  readonly modifiedAt: number;
  /** A text that differs between contents. Its form depends on the store. */
  readonly etag: string;
  /** The id of the write that made the object; undefined where another program wrote it. */
  readonly writeId: string | undefined;
  /** The time of the store at this request, in epoch milliseconds; undefined where the store does not state it. */
  readonly now: number | undefined;
}

/** The header with the id of a write. The store saves it with the object, so it shows which write made the object. */
export const WRITE_ID = "x-amz-meta-barlake-write";

/** Bytes of an object: from `start` to `end` (exclusive), or the last bytes. */
export type ObjectRange = { readonly start: number; readonly end: number } | { readonly last: number };

export async function readFacts(transport: StoreTransport, key: string): Promise<ObjectFacts> {
  const head = (): Promise<ObjectFacts> =>
    transport.send({ kind: "head", method: "HEAD", key }, async (response) => {
      for await (const _ of response.body);
      return factsIn(response.headers);
    });
  try {
    return await head();
  } catch (error) {
    if (!(error instanceof ObjectStoreError) || !error.code.startsWith("HTTP_4")) throw error;
    return factsOfRange(transport, key).catch((refusal: unknown) => {
      // An empty object does not have this range.
      if (refusal instanceof ObjectStoreError && refusal.status === 416) return head();
      throw refusal;
    });
  }
}

/**
 * The facts of an object by a read of its first byte. An error response to HEAD has no body, and may come from a proxy
 * in front of the store; that to GET states, for example, that the bucket is missing, or the credentials have expired.
 */
function factsOfRange(transport: StoreTransport, key: string): Promise<ObjectFacts> {
  return transport.send(
    { kind: "get", method: "GET", key, headers: { range: "bytes=0-0" } },
    async (response) => {
      // A store that ignores the range header sends the whole object.
      if (response.status !== 206) {
        response.body.destroy();
        return factsIn(response.headers);
      }
      await expectNothing(response);
      const [, size] = /\/(\d+)$/.exec(response.headers["content-range"] ?? "") ?? [];
      return factsIn(response.headers, Number(size));
    },
  );
}

function factsIn(
  headers: StoreResponse["headers"],
  size: number = Number(headers["content-length"]),
): ObjectFacts {
  const modifiedAt = wholeSeconds(Date.parse(headers["last-modified"] ?? ""));
  if (!Number.isSafeInteger(size) || Number.isNaN(modifiedAt))
    throw new TransportError("the response has no size or no time of the object");
  const now = Date.parse(headers.date ?? "");
  return {
    size,
    modifiedAt,
    etag: headers.etag ?? "",
    writeId: headers[WRITE_ID],
    now: Number.isNaN(now) ? undefined : now,
  };
}

/** The result is shorter, or empty, where the object ends before. @throws {ObjectStoreError} where there is none. */
export async function readRange(transport: StoreTransport, key: string, range: ObjectRange): Promise<Buffer> {
  const length = "last" in range ? range.last : range.end - range.start;
  if (length <= 0) return readFacts(transport, key).then(() => Buffer.alloc(0));
  const bytes = "last" in range ? `bytes=-${range.last}` : `bytes=${range.start}-${range.end - 1}`;
  try {
    return await transport.send({ kind: "get", method: "GET", key, headers: { range: bytes } }, (response) =>
      response.status === 206 ? readWhole(response, length) : cutOut(response, range),
    );
  } catch (error) {
    // The object ends before the range, or is empty.
    if (error instanceof ObjectStoreError && error.status === 416) return Buffer.alloc(0);
    throw error;
  }
}

/** A store may send the whole object instead of a range, for example if it is empty. */
async function cutOut(response: StoreResponse, range: ObjectRange): Promise<Buffer> {
  const size = Number(response.headers["content-length"]);
  const start = "last" in range ? Math.max(0, size - range.last) : range.start;
  const end = "last" in range ? size : range.end;
  const pieces: Uint8Array[] = [];
  let offset = 0;
  for await (const piece of countedPieces(response)) {
    const part = piece.subarray(Math.max(0, start - offset), Math.max(0, end - offset));
    if (part.length > 0) pieces.push(Buffer.from(part));
    offset += piece.length;
  }
  return Buffer.concat(pieces);
}

/** Number of continuations of a body without any new byte after which a read fails. */
const MAX_STOPS = 5;

/**
 * If a connection breaks, the rest is requested. @throws {ObjectStoreError} where there is no object; {@link
 * TransportError}, while pieces are read, where the connection breaks repeatedly, or the object was replaced.
 */
export async function readStream(transport: StoreTransport, key: string): Promise<AsyncIterable<Uint8Array>> {
  const open = (start: number): Promise<StoreResponse> =>
    transport.send(
      { kind: "get", method: "GET", key, ...(start === 0 ? {} : { headers: { range: `bytes=${start}-` } }) },
      async (response) => response,
    );
  return continued(await open(0), open);
}

async function* continued(
  first: StoreResponse,
  open: (start: number) => Promise<StoreResponse>,
): AsyncGenerator<Uint8Array> {
  let response = first;
  let offset = 0;
  for (let stops = 0; ; stops++) {
    try {
      for await (const piece of countedPieces(response)) {
        offset += piece.length;
        stops = 0;
        yield piece;
      }
      return;
    } catch (error) {
      if (stops === MAX_STOPS) throw broken(offset, error);
    } finally {
      response.body.destroy();
    }
    const rest = await open(offset);
    const isSame = rest.headers.etag === first.headers.etag && (rest.status === 206 || offset === 0);
    response = rest;
    if (isSame) continue;
    rest.body.destroy();
    throw broken(offset, new Error("the object was replaced"));
  }
}

function broken(offset: number, cause: unknown): TransportError {
  return new TransportError(
    `the object could not be read beyond byte ${offset}: ${(cause as Error).message}`,
    {
      cause,
      hint: "check the network; then run the command again",
    },
  );
}

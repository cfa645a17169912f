import type { Readable } from "node:stream";
import { TransportError } from "../../core/errors.js";

/** A response whose body has not been read yet. */
export interface StoreResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Readable;
}

/**
 * Passes on the bytes of a body, and counts them.
 *
 * @throws {TransportError} where the body ends before its Content-Length.
 */
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

/** Reads a body to its end. @throws {TransportError} where it is larger than the limit, or incomplete. */
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

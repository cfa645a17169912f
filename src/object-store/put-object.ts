import { createHash, randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { expectNothing } from "./http/response-body.js";
import { isConditionFailed, isMissing, ObjectStoreError } from "./http/store-error.js";
import type { RequestBody, StoreTransport } from "./http/store-transport.js";
import { readFacts, readStream, WRITE_ID } from "./read-object.js";

/** The condition that no object with the key exists. */
export const IF_ABSENT = { "if-none-match": "*" } as const;

/** A body whose bytes are all in memory. */
export function bytesBody(bytes: Uint8Array): RequestBody {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const open = (): Uint8Array | Readable =>
    bytes.length <= WHOLE_BYTES ? bytes : Readable.from(piecesOf(bytes), { objectMode: false });
  return { length: bytes.length, sha256, open };
}

/**
 * A body with more bytes than this is sent in pieces. The timeout of a request starts again with each piece that the
 * connection takes, so it limits the wait for progress, and not the time of the whole request.
 */
const WHOLE_BYTES = 1024 ** 2;
const PIECE_BYTES = 65_536;

function* piecesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += PIECE_BYTES)
    yield bytes.subarray(start, start + PIECE_BYTES);
}

/** Writes an object, replacing any with that key. */
export function putObject(transport: StoreTransport, key: string, body: RequestBody): Promise<void> {
  return transport.send(
    { kind: "put", method: "PUT", key, headers: { [WRITE_ID]: randomUUID() }, body },
    expectNothing,
  );
}

/** Creates an object unless one with the key exists. @returns whether this call created it. */
export async function createObject(
  transport: StoreTransport,
  key: string,
  body: RequestBody,
): Promise<boolean> {
  const writeId = randomUUID();
  try {
    const headers = { ...IF_ABSENT, [WRITE_ID]: writeId };
    await transport.send({ kind: "put", method: "PUT", key, headers, body }, expectNothing);
    return true;
  } catch (error) {
    if (!(error instanceof ObjectStoreError) || !isConditionFailed(error)) throw error;
    // An earlier attempt, or one that a proxy repeated, may have created the object. Equal content shows that only if
    // this process has sent it before, because another process may write the same content.
    return isOwnWrite(transport, key, writeId, error.attempts > 1 ? body : undefined);
  }
}

/**
 * Whether an object was made by the write with an id. If the store has no ids: whether it has the content of `body`.
 */
export async function isOwnWrite(
  transport: StoreTransport,
  key: string,
  writeId: string,
  body?: Pick<RequestBody, "length" | "sha256">,
): Promise<boolean> {
  try {
    const facts = await readFacts(transport, key);
    if (facts.writeId !== undefined || body === undefined) return facts.writeId === writeId;
    // The store does not store metadata.
    if (facts.size !== body.length) return false;
    const hash = createHash("sha256");
    for await (const piece of await readStream(transport, key)) hash.update(piece);
    return hash.digest("hex") === body.sha256;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

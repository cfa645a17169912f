import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import type { RequestBody, StoreTransport } from "./http/store-transport.js";
import { createFromParts } from "./multipart-upload.js";
import { bytesBody, createObject } from "./put-object.js";

/** How files are sent in parts. */
export interface PartOptions {
  /** Files larger than this number of bytes are sent in parts; undefined: no file is. @default 67108864 */
  readonly minBytes?: number | undefined;
  /** @default 16777216 */
  readonly partBytes?: number | undefined;
}

/** How a file is sent. */
export interface PutFileOptions extends PartOptions {
  /** The hash of the file's content in hexadecimal digits. @default computed where it is needed */
  readonly sha256?: string | undefined;
}

/** Larger pieces than the 64 KiB that Node reads otherwise, because each takes processor time. */
const PIECE_BYTES = 256 * 1024;
const MIN_MULTIPART_BYTES = 64 * 1024 ** 2;
/** Bytes of a part. The last part may have any size, all others must have at least 5 MiB. */
const PART_BYTES = 16 * 1024 ** 2;
const MAX_PARTS = 10_000;
/**
 * Creates an object with the content of a local file, unless one with the key exists. A large file is sent in parts.
 * Where its hash is not known, or only as a whole, the file is read twice, first for its hash, so that the use of memory does
 * not depend on its size. The file must not change.
 *
 * @returns whether this call created the object.
 */
export async function createFromFile(
  transport: StoreTransport,
  key: string,
  file: string,
  { minBytes = MIN_MULTIPART_BYTES, partBytes = PART_BYTES, sha256 }: PutFileOptions = {},
): Promise<boolean> {
  const { size } = await stat(file);
  if (size <= minBytes) return createObject(transport, key, await bodyOf(file, 0, size, sha256));
  const length = Math.max(partBytes, Math.ceil(size / MAX_PARTS));
  const parts = Array.from(
    { length: Math.ceil(size / length) },
    (_, n) => () => bodyOf(file, n * length, Math.min(length, size - n * length)),
  );
  return createFromParts(transport, key, parts);
}

/** The body of a request with a range of a file. */
async function bodyOf(file: string, start: number, length: number, sha256?: string): Promise<RequestBody> {
  if (length === 0) return bytesBody(new Uint8Array());
  const range = { start, end: start + length - 1, highWaterMark: PIECE_BYTES };
  const open = (): Readable => createReadStream(file, range);
  if (sha256 !== undefined) return { length, sha256, open };
  const hash = createHash("sha256");
  for await (const piece of open()) hash.update(piece as Buffer);
  return { length, sha256: hash.digest("hex"), open };
}

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { RequestBody, StoreTransport } from "./http/store-transport.js";
import { createFromParts } from "./multipart-upload.js";
import { bytesBody, createObject } from "./put-object.js";

/** How files are sent in parts. */
export interface PartOptions {
  /** Larger files are sent in parts; undefined: none. @default 67108864 */
  readonly minBytes?: number | undefined;
  /** @default 16777216 */
  readonly partBytes?: number | undefined;
}

const MIN_MULTIPART_BYTES = 64 * 1024 ** 2;
/** Of the last part any size is permitted, of the others 5 MiB and more. */
const PART_BYTES = 16 * 1024 ** 2;
const MAX_PARTS = 10_000;
/**
 * Creates an object of the content of a local file unless there is one; a large file is sent in parts. The file is read
 * twice, once for its hash, so that memory does not depend on its size. It must not change.
 *
 * @returns whether this call created the object.
 */
export async function createFromFile(
  transport: StoreTransport,
  key: string,
  file: string,
  { minBytes = MIN_MULTIPART_BYTES, partBytes = PART_BYTES }: PartOptions = {},
): Promise<boolean> {
  const { size } = await stat(file);
  if (size <= minBytes) return createObject(transport, key, await bodyOf(file, 0, size));
  const length = Math.max(partBytes, Math.ceil(size / MAX_PARTS));
  const parts = Array.from(
    { length: Math.ceil(size / length) },
    (_, n) => () => bodyOf(file, n * length, Math.min(length, size - n * length)),
  );
  return createFromParts(transport, key, parts);
}

/** A range of a file as a body. */
async function bodyOf(file: string, start: number, length: number): Promise<RequestBody> {
  if (length === 0) return bytesBody(new Uint8Array());
  const range = { start, end: start + length - 1 };
  const hash = createHash("sha256");
  for await (const piece of createReadStream(file, range)) hash.update(piece as Buffer);
  return { length, sha256: hash.digest("hex"), open: () => createReadStream(file, range) };
}

import { open } from "node:fs/promises";
import { BarlakeError, messageOf } from "../../../core/errors.js";

const ZSTD_MAGIC = 0xfd2fb528;
/** The first of the 16 magic numbers of frames that carry no compressed data; decoders skip them. */
const SKIPPABLE = 0x184d2a50;
/** Bytes of a frame's content size and of its dictionary id, by the flags in its header. */
const CONTENT_SIZE_BYTES = [0, 2, 4, 8];
const DICTIONARY_BYTES = [0, 1, 2, 4];
/** The type of a block that repeats one byte. */
const RLE_BLOCK = 1;

/**
 * Checks that a .zst file is complete: DuckDB reads a truncated one without an error. It is found by the headers of its
 * frames and blocks, and the contents are not verified.
 *
 * @throws {BarlakeError} that names the file if it is truncated or damaged.
 */
export async function expectWholeZstd(path: string): Promise<void> {
  try {
    await readFrames(path);
  } catch (cause) {
    throw damagedFile(path, cause);
  }
}

/** The error of a file that is truncated or damaged. */
export function damagedFile(path: string, cause?: unknown): BarlakeError {
  const why = cause === undefined ? "" : ` (${messageOf(cause)})`;
  return new BarlakeError(`file ${path}: is cut short or damaged${why}`, {
    hint: "none of it was imported; fetch or write it again",
    cause,
  });
}

async function readFrames(path: string): Promise<void> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const read = async (at: number, bytes: number): Promise<Buffer> => {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(bytes), 0, bytes, at);
      if (bytesRead < bytes) throw new RangeError("unexpected end of file");
      return buffer;
    };
    let at = 0;
    do at = await frameEnd(at, read);
    while (at < size);
    if (at > size) throw new RangeError("unexpected end of file");
  } finally {
    await file.close();
  }
}

async function frameEnd(
  start: number,
  read: (at: number, bytes: number) => Promise<Buffer>,
): Promise<number> {
  const magic = (await read(start, 4)).readUInt32LE();
  if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE) return start + 8 + (await read(start + 4, 4)).readUInt32LE();
  if (magic !== ZSTD_MAGIC) throw new RangeError("no zstd frame where one belongs");
  const descriptor = (await read(start + 4, 1)).readUInt8();
  const isSingle = (descriptor & 0x20) !== 0;
  const sizeFlag = descriptor >> 6;
  const sizeBytes = sizeFlag === 0 && isSingle ? 1 : (CONTENT_SIZE_BYTES[sizeFlag] as number);
  let at = start + 5 + (isSingle ? 0 : 1) + (DICTIONARY_BYTES[descriptor & 3] as number) + sizeBytes;
  for (let isLast = false; !isLast; ) {
    const header = (await read(at, 3)).readUIntLE(0, 3);
    isLast = (header & 1) === 1;
    at += 3 + (((header >> 1) & 3) === RLE_BLOCK ? 1 : header >> 3);
  }
  return at + ((descriptor & 4) === 0 ? 0 : 4);
}

import { createReadStream, createWriteStream } from "node:fs";
import { open } from "node:fs/promises";
import { basename } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { crc32, createInflateRaw } from "node:zlib";
import { BarlakeError, messageOf, UsageError } from "../../../core/errors.js";

export const FORMATS =
  /\.(csv|tsv|txt|dat|parquet|pq|json|ndjson|jsonl|arrow|arrows|feather|ipc)(\.gz|\.zst)?$/i;

/** The file's name without folder and endings. */
export function stemOf(path: string): string {
  return basename(path)
    .replace(/\.zip$/i, "")
    .replace(FORMATS, "");
}

/** Escapes a path, so that DuckDB reads this one file, and does not treat the path as a pattern. */
export function exactPath(path: string): string {
  return path.replaceAll(/[*?[]/g, "[$&]");
}

/** The error of a file that is not Arrow, or that Arrow's reader does not read. */
export function notArrow(path: string, cause: unknown): UsageError {
  return new UsageError(`file ${path}: Arrow's reader cannot read it (${messageOf(cause)})`, {
    hint: "write it without compression, or as Parquet",
    cause,
  });
}

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

interface Member {
  readonly name: string;
  /** 0: stored, 8: deflated. */
  readonly method: number;
  readonly crc: number;
  readonly size: number;
  /** Position of its local header, in bytes. */
  readonly start: number;
}

const END = 0x06054b50;
const CENTRAL = 0x02014b50;
const END_BYTES = 22 + 0xffff;

/**
 * Writes the only member of a zip archive to a file.
 *
 * @returns the member's name.
 * @throws {UsageError} where there are several members; `BarlakeError` where the archive is truncated or damaged.
 */
export async function unzip(path: string, to: string): Promise<string> {
  const members = await membersOf(path);
  const [member] = members;
  if (member === undefined || members.length > 1) {
    throw new UsageError(`file ${path}: has ${members.length} members, and an import takes archives of one`, {
      hint: "unpack it, and name the files",
    });
  }
  if (member.method !== 0 && member.method !== 8)
    throw new UsageError(`file ${path}: is compressed in a way that is not supported (${member.method})`);
  const start = await contentStart(path, member);
  const end = start + member.size - 1;
  let crc = 0;
  const check = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      crc = crc32(chunk, crc);
      done(null, chunk);
    },
  });
  const content = createReadStream(path, member.size === 0 ? { end: 0 } : { start, end });
  const steps = member.method === 8 ? [content, createInflateRaw(), check] : [content, check];
  await pipeline([...steps, createWriteStream(to)]).catch((cause: unknown) => {
    throw damagedFile(path, cause);
  });
  if (crc >>> 0 !== member.crc) throw damagedFile(path);
  return member.name;
}

async function membersOf(path: string): Promise<Member[]> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const tail = Buffer.alloc(Math.min(size, END_BYTES));
    await file.read(tail, 0, tail.length, size - tail.length);
    let at = tail.length - 22;
    while (at >= 0 && tail.readUInt32LE(at) !== END) at -= 1;
    if (at < 0) throw damagedFile(path);
    const directory = Buffer.alloc(tail.readUInt32LE(at + 12));
    await file.read(directory, 0, directory.length, tail.readUInt32LE(at + 16));
    const members: Member[] = [];
    for (let p = 0; p + 46 <= directory.length && directory.readUInt32LE(p) === CENTRAL; ) {
      const nameBytes = directory.readUInt16LE(p + 28);
      const name = directory.toString("utf8", p + 46, p + 46 + nameBytes);
      members.push({
        name,
        method: directory.readUInt16LE(p + 10),
        crc: directory.readUInt32LE(p + 16),
        size: directory.readUInt32LE(p + 20),
        start: directory.readUInt32LE(p + 42),
      });
      p += 46 + nameBytes + directory.readUInt16LE(p + 30) + directory.readUInt16LE(p + 32);
    }
    return members.filter(({ name }) => !name.endsWith("/") && !name.startsWith("__MACOSX/"));
  } finally {
    await file.close();
  }
}

async function contentStart(path: string, { start }: Member): Promise<number> {
  const file = await open(path);
  try {
    const header = Buffer.alloc(30);
    await file.read(header, 0, 30, start);
    return start + 30 + header.readUInt16LE(26) + header.readUInt16LE(28);
  } finally {
    await file.close();
  }
}

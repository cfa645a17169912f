import { type FileHandle, open, readdir, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import pMap from "p-map";
import { freeMemory } from "../../core/memory-pool.js";
import type { ByteRange, FileFacts, StoredFile } from "../storage/storage.js";
import { writing } from "./durable-file.js";

/**
 * Writes pieces one after the other, at the position of a file. On a disk that is nearly full, the system writes a part
 * and reports no error; only the next write fails.
 *
 * @throws {Error} where the system writes nothing and reports no error.
 */
export async function writeAll(file: FileHandle, pieces: readonly Uint8Array[]): Promise<void> {
  let rest = pieces.filter(({ length }) => length > 0);
  while (rest.length > 0) {
    let { bytesWritten } = await file.writev(rest);
    if (bytesWritten === 0) throw new Error("the system wrote 0 bytes of a file");
    while (rest[0] !== undefined && bytesWritten >= rest[0].length) {
      bytesWritten -= rest[0].length;
      rest = rest.slice(1);
    }
    if (rest[0] !== undefined) rest = [rest[0].subarray(bytesWritten), ...rest.slice(1)];
  }
}

/** Bytes that are read in one step. */
const PIECE_BYTES = 2 ** 20;

/**
 * Opens a file and reads it piece by piece. All pieces share memory, which is freed at the end: a piece is valid until the
 * next one is requested, or the iteration ends.
 *
 * @throws the system's error where the file cannot be opened, or, while the pieces are read, where it cannot be read.
 */
export async function readPieces(path: string): Promise<AsyncIterable<Uint8Array>> {
  return piecesOf(await open(path, "r"));
}

async function* piecesOf(file: FileHandle): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafe(PIECE_BYTES);
  try {
    for (let read = await file.read(buffer); read.bytesRead > 0; read = await file.read(buffer)) {
      yield buffer.subarray(0, read.bytesRead);
    }
  } finally {
    freeMemory(buffer);
    await file.close();
  }
}

/**
 * Reads a range of a file's bytes. The result is shorter, or empty, where the file ends before. @throws the system's
 * error.
 */
export async function readRangeOf(path: string, range: ByteRange): Promise<Buffer> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    const [start, end] =
      "last" in range ? [Math.max(0, size - range.last), size] : [range.start, Math.min(range.end, size)];
    const buffer = Buffer.allocUnsafeSlow(Math.max(0, end - start));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, start);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Writes a new file; the parts that come together are written in one step. The content is not durable yet. */
export async function writeParts(path: string, parts: AsyncIterable<readonly Uint8Array[]>): Promise<void> {
  await writing(path, async () => {
    const file = await open(path, "wx");
    try {
      for await (const some of parts) await writeAll(file, some);
    } finally {
      await file.close();
    }
  });
}

/** Replaces the last bytes of a file. The content is not durable yet. */
export async function replaceEnd(path: string, bytes: number, end: readonly Uint8Array[]): Promise<void> {
  await writing(path, async () => {
    const file = await open(path, "a");
    try {
      const { size } = await file.stat();
      await file.truncate(size - bytes);
      await writeAll(file, end);
    } finally {
      await file.close();
    }
  });
}

/** All files under a folder, by path; none where there is no such folder. */
export async function filesUnder(folder: string): Promise<StoredFile[]> {
  const names = await unlessMissing(() => readdir(folder, { recursive: true }));
  const found = await pMap(
    names?.sort() ?? [],
    async (name) => {
      const facts = await factsOfFile(join(folder, name));
      if (facts === undefined) return undefined;
      return { path: name.split(sep).join("/"), size: facts.size, modifiedAt: facts.modifiedAt };
    },
    { concurrency: 16 },
  );
  return found.filter((file) => file !== undefined);
}

/** Size, time and tag of a file; undefined for a folder, and where there is no file. */
export async function factsOfFile(path: string): Promise<FileFacts | undefined> {
  const found = await unlessMissing(() => stat(path));
  if (!found?.isFile()) return undefined;
  const { ino, size, mtimeMs, ctimeMs } = found;
  return { size, modifiedAt: mtimeMs, tag: `${ino} ${size} ${mtimeMs} ${ctimeMs}` };
}

/** The result of a read; undefined where the file or folder does not exist. */
export async function unlessMissing<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}

import { createHash, hash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { mkdir, open, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Worker } from "node:worker_threads";
import { crc32 } from "node:zlib";
import type { FieldCells } from "../panel/block.js";

/**
 * Name of the file with the digests of all other files of a dataset, in the format of `sha256sum -c`: of each its
 * SHA-256 as hexadecimal digits, two spaces, and its path. Files of floats, which an append continues without reading
 * them, have lines that it takes for comments: `# crc32`, their CRC-32 as hexadecimal digits, and their size.
 */
export const DIGESTS = "files.sha256";

const GAP = "  ";

/** The digest of a file that is continued, in a list of digests. */
const CRC32 = /^# crc32 ([0-9a-f]{8}) (\d+)$/;

/** Reads the text of {@link DIGESTS}: the digest of each file, by its path. */
export function digestsIn(text: string): Map<string, string> {
  const lines = text.split("\n").filter((line) => line !== "");
  return new Map(
    lines.map((line) => {
      const gap = line.indexOf(GAP);
      return [line.slice(gap + GAP.length), line.slice(0, gap)];
    }),
  );
}

/** The digest of one file in the text of {@link DIGESTS}, as {@link digestsIn} has it, without reading the other lines. */
export function digestIn(text: string, path: string): string | undefined {
  const at = text.indexOf(`${GAP}${path}\n`);
  return at < 0 ? undefined : text.slice(text.lastIndexOf("\n", at) + 1, at);
}

/**
 * Whether the bytes of a file have a digest of a list. @param options.mayGoOn whether more may follow the bytes of which
 * the digest is, where it has their number. @param options.signal ends the reading before the next piece; its reason is
 * thrown.
 */
export async function hasDigest(
  pieces: AsyncIterable<Uint8Array>,
  digest: string,
  { mayGoOn, signal }: { readonly mayGoOn: boolean; readonly signal?: AbortSignal | undefined },
): Promise<boolean> {
  const [, hex, size] = CRC32.exec(digest) ?? [];
  if (hex === undefined) return (await sha256Of(pieces, signal)) === digest;
  const bytes = Number(size);
  let [crc, read] = [0, 0];
  for await (const piece of pieces) {
    signal?.throwIfAborted();
    crc = crc32(piece.subarray(0, Math.max(0, bytes - read)), crc);
    read += piece.length;
  }
  return crc === Number.parseInt(hex, 16) && (mayGoOn ? read >= bytes : read === bytes);
}

/** A file of an earlier dataset, with its digest there. */
export interface EarlierFile {
  readonly source: string;
  readonly sha256: string;
}

export interface NewFile {
  /** Path relative to the folder, with `/`. */
  readonly path: string;
  /** An earlier file gets a second name, or is copied where there are no such names. */
  readonly content: string | EarlierFile;
}

/**
 * Files of 32-bit floats to write, one for each symbol and column: the symbol's head, then cells; or cells after those
 * that the file has in the earlier dataset, there. Cells are in memory that threads share, and columns have none in common; the
 * thread writes to the cell before the first one of a file, and restores it.
 */
export interface FloatFiles {
  /** Folder of each symbol, relative to that of all files, with `/`. */
  readonly folders: readonly string[];
  /** The first number of each symbol's files; NaN where they continue those of the earlier dataset. */
  readonly heads: Float64Array;
  /** The first cell of each symbol, and the end of its cells, exclusive: in every column. */
  readonly starts: Float64Array;
  readonly ends: Float64Array;
  readonly columns: readonly {
    readonly name: string;
    readonly cells: FieldCells | Uint8Array;
  }[];
}

/** A dataset whose files are continued in their place: its folder, and the text of its list of digests. */
export interface EarlierFiles {
  readonly folder: string;
  readonly list: string;
}

/** Code of the error for an earlier file that is missing, cannot be used, or is not what was written. */
export const EARLIER_FAULT = "EARLIER_FAULT";

export interface WrittenFiles {
  readonly bytes: number;
  /** A line for each file, as in {@link DIGESTS}. */
  readonly lines: string;
}

export interface FileThreadData {
  readonly folder: string;
  readonly earlier: EarlierFiles | undefined;
  /** Bytes of a file that are read and hashed at a time. */
  readonly pieceBytes: number;
}

export type FileThreadReply =
  | WrittenFiles
  | { readonly fault: { readonly message: string; readonly code?: string | undefined } };

/** Bytes of a file that are read and hashed at a time. */
export const PIECE_BYTES = 2 ** 20;

/**
 * Writes files to a folder in a thread, and computes their digests: a third of the work of a dataset of many small
 * files.
 */
export class FileThread {
  readonly #worker: Worker;
  readonly #closed = new AbortController();

  /** @param folder exists. @param earlier where files are continued. */
  constructor(folder: string, earlier?: EarlierFiles) {
    const workerData: FileThreadData = { folder, earlier, pieceBytes: PIECE_BYTES };
    this.#worker = new Worker(new URL("file-worker.js", import.meta.url), { workerData, execArgv: [] });
    this.#worker.on("error", (error) => this.#closed.abort(error));
  }

  /**
   * Writes whole files; one call at a time. The memory of their cells must not be read or changed until the promise is
   * settled. @throws what the system throws, with its code; what has ended the thread.
   */
  async write(files: readonly NewFile[] | FloatFiles): Promise<WrittenFiles> {
    const { signal } = this.#closed;
    signal.throwIfAborted();
    this.#worker.postMessage(files, []);
    const [reply] = (await once(this.#worker, "message", { signal })) as [FileThreadReply];
    if (!("fault" in reply)) return reply;
    const { message, code } = reply.fault;
    throw Object.assign(new Error(message), { code });
  }

  /** Ends the thread, after the call of the system that it is in: a file may be incomplete, and a cell not restored. */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.#worker.terminate();
  }
}

interface FileList {
  readonly files: number;
  readonly bytes: number;
  /** A line for each file, sorted by path, as in {@link DIGESTS}. */
  readonly text: string;
}

/** A finished file that no thread has written. */
interface OwnFile {
  readonly bytes: number;
  readonly sha256: string;
}

export class DatasetFiles {
  readonly folder: string;
  readonly #signal: AbortSignal | undefined;
  readonly #earlier: EarlierFiles | undefined;
  readonly #own = new Map<string, OwnFile>();
  readonly #written: WrittenFiles[] = [];
  /** The paths of the files that were given one by one to the threads. */
  readonly #given = new Set<string>();
  /** Aborted by {@link close}: the signal of a long command outlives the files. */
  readonly #closed = new AbortController();
  readonly #threads: FileThread[] = [];
  #writing: Promise<readonly WrittenFiles[]> | undefined;

  /**
   * @param signal ends the reading of files for their digests. @param earlier the dataset whose files are continued.
   */
  constructor(folder: string, signal?: AbortSignal, earlier?: EarlierFiles) {
    this.folder = folder;
    this.#signal = signal;
    this.#earlier = earlier;
  }

  /**
   * Starts to write whole files, in a thread; in two where floats may continue earlier files, as nothing else then takes as
   * long. Returns when the files of the previous call are written: the memory of their cells may be used again.
   *
   * @throws what the system has thrown for one of these files, with its code.
   */
  async putAll(files: readonly NewFile[] | FloatFiles): Promise<void> {
    await this.settle();
    if (!("columns" in files)) for (const { path } of files) this.#given.add(path);
    const parts = "columns" in files && this.#earlier ? halves(files) : [files];
    const written = allOf(parts.map((part, n) => this.#thread(n).write(part)));
    written.catch(() => {});
    this.#writing = written;
  }

  /** Once the signal aborts, the thread writes no further file, and waiting for it fails. */
  #thread(n: number): FileThread {
    const opened = this.#threads[n];
    if (opened !== undefined) return opened;
    const thread = new FileThread(this.folder, this.#earlier);
    this.#threads[n] = thread;
    const stop = (): void => void thread.close();
    this.#signal?.addEventListener("abort", stop, { once: true, signal: this.#closed.signal });
    if (this.#signal?.aborted) stop();
    return thread;
  }

  /** Waits until the files of all calls are written, and records them. @throws as {@link putAll} */
  async settle(): Promise<void> {
    const writing = this.#writing;
    this.#writing = undefined;
    if (writing !== undefined) this.#written.push(...(await writing));
  }

  /** Ends the threads. Files that they have not written yet are not written. */
  async close(): Promise<void> {
    this.#closed.abort();
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }

  put(path: string, bytes: Uint8Array | string): void {
    const file = join(this.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, bytes);
    this.#own.set(path, { bytes: Buffer.byteLength(bytes), sha256: hash("sha256", bytes, "hex") });
  }

  /** Whether a file is written, or is among those that a thread writes, other than files of floats. */
  has(path: string): boolean {
    return this.#own.has(path) || this.#given.has(path);
  }

  async place(path: string): Promise<string> {
    const file = join(this.folder, path);
    await mkdir(dirname(file), { recursive: true });
    return file;
  }

  async adopt(path: string): Promise<void> {
    const file = join(this.folder, path);
    const { size } = await stat(file);
    this.#own.set(path, {
      bytes: size,
      sha256: await sha256OfFile(file, new Uint8Array(Math.min(size, PIECE_BYTES)), this.#signal),
    });
  }

  list(): FileList {
    const own = Array.from(this.#own, ([path, { sha256 }]) => `${sha256}${GAP}${path}\n`).join("");
    const text = [...this.#written.map(({ lines }) => lines), own].join("");
    const lines = text.split("\n").slice(0, -1);
    const paths = lines.map((line) => line.slice(line.indexOf(GAP) + GAP.length));
    const order = Uint32Array.from(lines.keys());
    order.sort((a, b) => ((paths[a] as string) < (paths[b] as string) ? -1 : 1));
    const sizes = [...this.#written, ...this.#own.values()];
    return {
      files: lines.length,
      bytes: sizes.reduce((sum, { bytes }) => sum + bytes, 0),
      text: Array.from(order, (n) => `${lines[n]}\n`).join(""),
    };
  }
}

/** The results of all, once all have ended: until then threads use the memory of cells. @throws the first error. */
async function allOf<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}

/** Half of the columns each: files of different columns have no cell in common. */
function halves(files: FloatFiles): FloatFiles[] {
  const { columns } = files;
  const middle = columns.length >> 1;
  const parts = [columns.slice(0, middle), columns.slice(middle)];
  return parts.filter((part) => part.length > 0).map((part) => ({ ...files, columns: part }));
}

/**
 * The digest of a file of this machine, as hexadecimal digits.
 *
 * @param piece memory for a piece of the file: a stream would give new memory to the garbage collector with each piece.
 * @param signal ends the reading before the next piece; its reason is thrown.
 */
export async function sha256OfFile(path: string, piece: Uint8Array, signal?: AbortSignal): Promise<string> {
  const digest = createHash("sha256");
  await using file = await open(path);
  for (;;) {
    signal?.throwIfAborted();
    const { bytesRead } = await file.read(piece, 0, piece.length);
    if (bytesRead === 0) return digest.digest("hex");
    digest.update(piece.subarray(0, bytesRead));
  }
}

/** The digest of a file's bytes, as hexadecimal digits. @param signal as in {@link sha256OfFile}. */
export async function sha256Of(pieces: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<string> {
  const digest = createHash("sha256");
  for await (const piece of pieces) {
    signal?.throwIfAborted();
    digest.update(piece);
  }
  return digest.digest("hex");
}

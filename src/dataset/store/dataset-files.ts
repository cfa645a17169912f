import { createHash, hash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { mkdir, open, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  digestLine,
  type EarlierFiles,
  FileThread,
  type FloatFiles,
  type NewFile,
  PATH_AT,
  PIECE_BYTES,
  type WrittenFiles,
} from "./file-thread.js";

interface FileList {
  readonly files: number;
  /** Size of all files. */
  readonly bytes: number;
  /** A line for each file, sorted by path: its SHA-256 as hexadecimal digits, two spaces, its path. */
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
  /** What the threads have written. */
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

  /** The path of a file for another writer; creates its folder. */
  async place(path: string): Promise<string> {
    const file = join(this.folder, path);
    await mkdir(dirname(file), { recursive: true });
    return file;
  }

  /** Records a file that another writer has written. */
  async adopt(path: string): Promise<void> {
    const file = join(this.folder, path);
    const { size } = await stat(file);
    this.#own.set(path, {
      bytes: size,
      sha256: await sha256OfFile(file, new Uint8Array(Math.min(size, PIECE_BYTES)), this.#signal),
    });
  }

  list(): FileList {
    const own = Array.from(this.#own, ([path, { sha256 }]) => digestLine(path, sha256)).join("");
    const text = [...this.#written.map(({ lines }) => lines), own].join("");
    const lines = text.split("\n").slice(0, -1);
    const paths = lines.map((line) => line.slice(PATH_AT));
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

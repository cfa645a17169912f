import { createHash, hash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { mkdir, open, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { FileThread, type NewFile, PIECE_BYTES, type WrittenFiles } from "./file-thread.js";

/** A finished file of a dataset. */
export interface DatasetFile {
  /** Path relative to the dataset, with `/`. */
  readonly path: string;
  readonly bytes: number;
  /** As hexadecimal digits. */
  readonly sha256: string;
}

/** Files that a thread writes. */
interface Writing {
  readonly files: readonly NewFile[];
  readonly written: Promise<WrittenFiles>;
}

/** The files of a dataset that is being written. A class because it records the written files, and owns a thread. */
export class DatasetFiles {
  readonly folder: string;
  readonly #signal: AbortSignal | undefined;
  readonly #files = new Map<string, DatasetFile>();
  /** Aborted by {@link close}: the signal of a long command outlives the files. */
  readonly #closed = new AbortController();
  #thread: FileThread | undefined;
  #writing: Writing | undefined;

  /** @param signal ends the reading of files for their digests. */
  constructor(folder: string, signal?: AbortSignal) {
    this.folder = folder;
    this.#signal = signal;
  }

  /**
   * Starts to write whole files, in a thread. Returns when the files of the previous call are written: the memory of
   * their cells may be used again.
   *
   * @throws what the system has thrown for one of these files, with its code.
   */
  async putAll(files: readonly NewFile[]): Promise<void> {
    await this.settle();
    this.#thread ??= this.#openThread();
    const written = this.#thread.write(files);
    written.catch(() => {});
    this.#writing = { files, written };
  }

  /** Once the signal aborts, the thread writes no further file, and waiting for it fails. */
  #openThread(): FileThread {
    const thread = new FileThread(this.folder);
    const stop = (): void => void thread.close();
    this.#signal?.addEventListener("abort", stop, { once: true, signal: this.#closed.signal });
    if (this.#signal?.aborted) stop();
    return thread;
  }

  /** Waits until the files of all calls are written, and records them. @throws as {@link putAll} */
  async settle(): Promise<void> {
    if (this.#writing === undefined) return;
    const { files, written } = this.#writing;
    this.#writing = undefined;
    const { bytes, sha256 } = await written;
    for (const [i, { path }] of files.entries())
      this.#files.set(path, { path, bytes: bytes[i] as number, sha256: sha256[i] as string });
  }

  /** Ends the thread. Files that it has not written yet are not written. */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.#thread?.close();
  }

  /** Writes a whole file. */
  put(path: string, bytes: Uint8Array | string): void {
    const file = join(this.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, bytes);
    this.#files.set(path, { path, bytes: Buffer.byteLength(bytes), sha256: hash("sha256", bytes, "hex") });
  }

  /** Whether a file is written, or is among those that the thread writes. */
  has(path: string): boolean {
    return this.#files.has(path) || this.#writing?.files.some((file) => file.path === path) === true;
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
    this.#files.set(path, {
      path,
      bytes: size,
      sha256: await sha256OfFile(file, new Uint8Array(Math.min(size, PIECE_BYTES)), this.#signal),
    });
  }

  /** All files, sorted by path. */
  list(): DatasetFile[] {
    return [...this.#files.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  }
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

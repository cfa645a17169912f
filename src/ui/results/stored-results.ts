import { randomUUID } from "node:crypto";
import { renameSync } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import type { ExportFormat, RowsChoice, StoredResult } from "../process/jobs.js";
import { MOST_FOREIGN, type QueryProcesses } from "../process/query-processes.js";
import { resultFile } from "./result-files.js";

/** Most results that are stored. If there are more, the oldest ones are deleted. */
const MOST_RESULTS = 40;
/** Most bytes of all results. */
const MOST_BYTES = 2e9;
const MOST_ROWS = 500;

/** The bytes that one run may store. They are free again once it is disposed. */
export interface ResultShare extends Disposable {
  readonly bytes: number;
  /**
   * Adds a result that a process has stored in a folder. The file is moved from there, so that the folder of the
   * workspace has only the results that are known here.
   */
  add(result: StoredResult, folder: string): void;
}

/** Only the processes for queries open the files of stored results, which may have values of any size. */
export class StoredResults {
  readonly #processes: QueryProcesses;
  readonly #mostBytes: number;
  /** Results by id, the oldest first. */
  readonly #results = new Map<string, StoredResult>();
  /** The bytes that the runs in progress have reserved, and not used. */
  readonly #shares = new Set<{ readonly left: number }>();

  constructor(processes: QueryProcesses, mostBytes = MOST_BYTES) {
    this.#processes = processes;
    this.#mostBytes = mostBytes;
  }

  /** Reserves bytes for the results of a run that begins. Each of the runs at the same time has its own. */
  share(): ResultShare {
    const shares = this.#shares;
    const reserved = [...shares].reduce((sum, { left }) => sum + left, 0);
    const bytes = Math.floor(
      (this.#mostBytes - this.#bytes - reserved) / Math.max(1, MOST_FOREIGN - shares.size),
    );
    const share = { left: bytes };
    shares.add(share);
    return {
      bytes,
      add: (result, folder) => {
        share.left -= result.bytes;
        this.#add(result, folder);
      },
      [Symbol.dispose]: () => void shares.delete(share),
    };
  }

  /** Adds a result. Half of all bytes remain free for the next results, if there are older ones. */
  #add(result: StoredResult, folder: string): void {
    try {
      renameSync(resultFile(folder, result.id), resultFile(this.#processes.folder, result.id));
    } catch {
      // The result is not stored: where it is requested, the page says that its cell has to run again.
      return;
    }
    this.#results.set(result.id, result);
    for (const id of this.#results.keys()) {
      if (id === result.id) return;
      if (this.#results.size <= MOST_RESULTS && this.#bytes <= this.#mostBytes / 2) return;
      this.#delete(id);
    }
  }

  /** Rows of a result that fit a choice, from an offset, as the JSON of a `RowsReport`; undefined where the result was deleted. */
  async rowsOf(
    id: string,
    from: number,
    count: number,
    choice: RowsChoice = {},
  ): Promise<string | undefined> {
    const { rows } = this.#results.get(id) ?? {};
    if (rows === undefined) return undefined;
    const job = { ...choice, kind: "rows", id, rows, from, count: Math.min(count, MOST_ROWS) } as const;
    // The rows come soon, also where the page no longer needs them.
    const { signal } = new AbortController();
    let text: string | undefined;
    const piece = async (given: string): Promise<void> => void (text = given);
    return this.#unlessDeleted(id, async () => {
      await this.#processes.perform(job, { signal }, { piece });
      return text;
    });
  }

  /**
   * A result as the content of a file; undefined where it was deleted. The file has no name any more, so nothing
   * remains on disk once the stream is closed, also where nobody reads it. @param signal ends the work, and closes the
   * stream. @throws its reason.
   */
  async export(id: string, format: ExportFormat, signal: AbortSignal): Promise<Readable | undefined> {
    if (!this.#results.has(id)) return undefined;
    const file = join(this.#processes.folder, `${randomUUID()}.${format}`);
    const job = { kind: "export", id, format, file } as const;
    try {
      const use = { signal, isLimited: false };
      const written = await this.#unlessDeleted(id, async () => {
        await this.#processes.perform(job, use, { piece: async () => {} });
        return open(file);
      });
      return written && (await contentOf(written, signal));
    } finally {
      await rm(file, { force: true });
    }
  }

  get #bytes(): number {
    return [...this.#results.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  #delete(id: string): void {
    this.#results.delete(id);
    // A process may be reading the file: what cannot be deleted now is deleted with the folder.
    void rm(resultFile(this.#processes.folder, id), { force: true }).catch(() => {});
  }

  /** Reads a result; undefined where it was deleted before it could be read. */
  async #unlessDeleted<T>(id: string, read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      if (this.#results.has(id)) throw error;
      return undefined;
    }
  }
}

/** The content of an open file, which is closed once it was read, or the signal aborts. @throws the signal's reason. */
async function contentOf(file: FileHandle, signal: AbortSignal): Promise<Readable> {
  if (signal.aborted) await file.close();
  signal.throwIfAborted();
  const content = file.createReadStream();
  const close = (): void => void content.destroy();
  signal.addEventListener("abort", close, { once: true });
  return content.once("close", () => signal.removeEventListener("abort", close));
}

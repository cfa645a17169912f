import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { FieldCells } from "../panel/block.js";

/** Name of the file with the digests of all other files of a dataset, in the format of `sha256sum -c`. */
export const DIGESTS = "files.sha256";

/** Hexadecimal digits at the beginning of a line of {@link DIGESTS}; two spaces follow, then the path. */
const DIGEST_DIGITS = 64;
export const PATH_AT = DIGEST_DIGITS + 2;

/** The line of a file, with the end of the line. */
export function digestLine(path: string, sha256: string): string {
  return `${sha256}  ${path}\n`;
}

/** Reads the text of {@link DIGESTS}: the digest of each file, by its path. */
export function digestsIn(text: string): Map<string, string> {
  const lines = text.split("\n").filter((line) => line !== "");
  return new Map(lines.map((line) => [line.slice(PATH_AT), line.slice(0, DIGEST_DIGITS)]));
}

/** The digest of one file in the text of {@link DIGESTS}, as {@link digestsIn} has it, without reading the other lines. */
export function digestIn(text: string, path: string): string | undefined {
  const at = text.indexOf(`  ${path}\n`);
  return at < DIGEST_DIGITS ? undefined : text.slice(at - DIGEST_DIGITS, at);
}

/** A file of an earlier dataset, with its digest there. */
export interface EarlierFile {
  /** Its path on this machine. */
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
 * Files of 32-bit floats to write, one for each symbol and column: the symbol's head, or what the file of the same path
 * has in the earlier dataset, then cells. Cells are in memory that threads share, and columns have none in common; the
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

/** A dataset whose files are continued: its folder, and the text of its list of digests. */
export interface EarlierFiles {
  readonly folder: string;
  readonly list: string;
}

/** Code of the error for an earlier file that is missing, cannot be read, or is not what was written. */
export const EARLIER_FAULT = "EARLIER_FAULT";

export interface WrittenFiles {
  /** Size of all files. */
  readonly bytes: number;
  /** A line for each file, as in a dataset's list of digests: its SHA-256 as hexadecimal digits, two spaces, its path. */
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

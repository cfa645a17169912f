import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { FieldCells } from "../panel/block.js";

/** Name of the file with the digests of all other files of a dataset, in the format of `sha256sum -c`. */
export const DIGESTS = "files.sha256";

/** Hexadecimal digits of a digest at the beginning of a line of {@link DIGESTS}; two spaces follow, then the path. */
const DIGEST_DIGITS = 64;
/** Where the path begins in a line. */
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
interface EarlierFile {
  /** Its path on this machine. */
  readonly source: string;
  readonly sha256: string;
}

/** A file to write. */
export interface NewFile {
  /** Path relative to the folder, with `/`. */
  readonly path: string;
  /** An earlier file gets a second name, or is copied where there are no such names. */
  readonly content: string | EarlierFile;
}

/**
 * Files of 32-bit floats to write, one for each symbol and column: the symbol's head, or what the file of the same path has
 * in the earlier dataset, then cells of the column. Cells are in memory that threads share, and columns have none in common;
 * the thread writes to the cell before the first one of a file, and restores it.
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
    /** Name of its files. */
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

/** What was written. */
export interface WrittenFiles {
  /** Size of all files. */
  readonly bytes: number;
  /** A line for each file, as in a dataset's list of digests: its SHA-256 as hexadecimal digits, two spaces, its path. */
  readonly lines: string;
}

/** A response of the thread. */
type Reply = WrittenFiles | { readonly fault: { readonly message: string; readonly code?: string } };

/** Bytes of a file that are read and hashed at a time. */
export const PIECE_BYTES = 2 ** 20;

/**
 * The program of the thread. It is a text, because a thread of a file would load the compiler of TypeScript in tests.
 */
const PROGRAM = `
const { createHash, hash } = require("node:crypto");
const { closeSync, copyFileSync, linkSync, mkdirSync, openSync, readSync, writeFileSync } = require("node:fs");
const { parentPort, workerData } = require("node:worker_threads");
const { folder, earlier } = workerData;
const folders = new Set();
const piece = new Uint8Array(${PIECE_BYTES});
let floats = new Float32Array(2 ** 15);
function reserve(length) {
  if (floats.length >= length) return;
  const before = floats;
  floats = new Float32Array(length * 2);
  floats.set(before);
}
let digests;
// The digest of a file of the earlier dataset. One that the list does not have is found to be damaged.
function earlierFile(path) {
  digests ??= new Map(
    earlier.list.split("\\n").map((line) => [line.slice(${PATH_AT}), line.slice(0, ${DIGEST_DIGITS})]),
  );
  return { source: earlier.folder + "/" + path, sha256: digests.get(path) ?? "" };
}
// Reads an earlier file: use(file) with its descriptor returns a hash of all its bytes.
function readEarlier({ source, sha256 }, use) {
  let digest;
  try {
    const file = openSync(source);
    try {
      digest = use(file);
    } finally {
      closeSync(file);
    }
  } catch ({ message }) {
    throw Object.assign(new Error(message), { code: "${EARLIER_FAULT}" });
  }
  if (digest.copy().digest("hex") !== sha256)
    throw Object.assign(new Error(source + " is not what was written"), { code: "${EARLIER_FAULT}" });
  return digest;
}
function take(earlier, file) {
  let bytes = 0;
  readEarlier(earlier, (source) => {
    const digest = createHash("sha256");
    for (let read; (read = readSync(source, piece)) > 0; bytes += read) digest.update(piece.subarray(0, read));
    return digest;
  });
  try {
    linkSync(earlier.source, file);
  } catch {
    copyFileSync(earlier.source, file);
  }
  return { bytes, sha256: earlier.sha256 };
}
// The digest of an earlier file's bytes is the state from which that of the whole is computed.
function putAfter(earlier, cells, file) {
  let before = 0;
  const digest = readEarlier(earlier, (source) => {
    for (;;) {
      const free = floats.byteLength - before;
      const read = readSync(source, new Uint8Array(floats.buffer, before, free));
      before += read;
      // A file ends where fewer bytes are read: otherwise it has another digest.
      if (read < free) break;
      reserve(floats.length + 1);
    }
    return createHash("sha256").update(new Uint8Array(floats.buffer, 0, before));
  });
  const length = before / 4 + cells.length;
  reserve(length);
  floats.set(cells, before / 4);
  const bytes = new Uint8Array(floats.buffer, 0, length * 4);
  writeFileSync(file, bytes);
  return { bytes: bytes.length, sha256: digest.update(bytes.subarray(before)).digest("hex") };
}
function put(bytes, file) {
  writeFileSync(file, bytes);
  return { bytes: bytes.length, sha256: hash("sha256", bytes, "hex") };
}
// words: the bits of the cells, where these are 32-bit floats.
function putRun(head, { cells, words }, start, end, file) {
  if (words === undefined || start === 0) {
    const length = end - start + 1;
    reserve(length);
    floats[0] = head;
    floats.set(cells.subarray(start, end), 1);
    return put(new Uint8Array(floats.buffer, 0, length * 4), file);
  }
  // Nothing is copied: a copy of shared memory takes half as long as its hash.
  // The cell before is restored as bits: as a number, a NaN could come back with other ones.
  const before = words[start - 1];
  cells[start - 1] = head;
  try {
    return put(new Uint8Array(cells.buffer, cells.byteOffset + (start - 1) * 4, (end - start + 1) * 4), file);
  } finally {
    words[start - 1] = before;
  }
}
function makeFolder(path) {
  if (!folders.has(path)) mkdirSync(folder + "/" + path, { recursive: true });
  folders.add(path);
}
function write({ path, content }) {
  makeFolder(path.slice(0, Math.max(0, path.lastIndexOf("/"))));
  const file = folder + "/" + path;
  return content.source === undefined ? put(Buffer.from(content), file) : take(content, file);
}
function wordsOf(cells) {
  return cells instanceof Float32Array ? new Uint32Array(cells.buffer, cells.byteOffset, cells.length) : undefined;
}
function writeFloats({ folders, heads, starts, ends, columns: given }, record) {
  const columns = given.map(({ name, cells }) => ({ name, cells, words: wordsOf(cells) }));
  for (let s = 0; s < folders.length; s++) {
    makeFolder(folders[s]);
    const [head, start, end] = [heads[s], starts[s], ends[s]];
    for (const column of columns) {
      const path = folders[s] + "/" + column.name;
      const file = folder + "/" + path;
      record(path,
        !Number.isNaN(head) ? putRun(head, column, start, end, file)
        : start === end ? take(earlierFile(path), file)
        : putAfter(earlierFile(path), column.cells.subarray(start, end), file));
    }
  }
}
parentPort.on("message", (files) => {
  try {
    const lines = [];
    let size = 0;
    const record = (path, { bytes, sha256 }) => {
      size += bytes;
      lines.push(sha256 + "  " + path + "\\n");
    };
    if (Array.isArray(files)) for (const file of files) record(file.path, write(file));
    else writeFloats(files, record);
    parentPort.postMessage({ bytes: size, lines: lines.join("") });
  } catch ({ message, code }) {
    parentPort.postMessage({ fault: { message, code } });
  }
});`;

/**
 * Writes files to a folder in a thread, and computes their digests: a third of the work of a dataset of many small
 * files. A class because it owns the thread.
 */
export class FileThread {
  readonly #worker: Worker;
  readonly #closed = new AbortController();

  /** @param folder exists. @param earlier where files are continued. */
  constructor(folder: string, earlier?: EarlierFiles) {
    this.#worker = new Worker(PROGRAM, { eval: true, workerData: { folder, earlier }, execArgv: [] });
    this.#worker.on("error", (error) => this.#closed.abort(error));
  }

  /**
   * Writes whole files. The memory of their cells must not be read or changed until the promise is settled. One call at a
   * time.
   *
   * @throws what the system throws, with its code; what has ended the thread.
   */
  async write(files: readonly NewFile[] | FloatFiles): Promise<WrittenFiles> {
    const { signal } = this.#closed;
    signal.throwIfAborted();
    this.#worker.postMessage(files, []);
    const [reply] = (await once(this.#worker, "message", { signal })) as [Reply];
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

import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { FieldCells } from "../../panel/block.js";

/** A file of an earlier dataset, with its digest there. */
export interface EarlierFile {
  /** Its path on this machine. */
  readonly source: string;
  readonly sha256: string;
}

/**
 * Numbers that a file has as 32-bit floats: the first one, or those of an earlier file, then cells from `start` to `end`,
 * exclusive. The cells are in memory that threads share. An array that many files have cells of is sent to the thread once.
 */
export interface FloatRun {
  readonly head: number | EarlierFile;
  readonly cells: FieldCells | Uint8Array;
  readonly start: number;
  readonly end: number;
}

/** A file to write. */
export interface NewFile {
  /** Path relative to the folder, with `/`. */
  readonly path: string;
  /** An earlier file gets a second name, or is copied where there are no such names. */
  readonly content: string | FloatRun | EarlierFile;
}

/** Code of the error for an earlier file that is missing, cannot be read, or is not what was written. */
export const EARLIER_FAULT = "EARLIER_FAULT";

/** What was written: the size of each file in bytes, and its SHA-256 as hexadecimal digits. */
export interface WrittenFiles {
  readonly bytes: readonly number[];
  readonly sha256: readonly string[];
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
const { closeSync, copyFileSync, fstatSync, linkSync, mkdirSync, openSync, readSync, writeFileSync } = require("node:fs");
const { parentPort, workerData: folder } = require("node:worker_threads");
const folders = new Set();
const piece = new Uint8Array(${PIECE_BYTES});
let floats = new Float32Array(0);
function reserve(length) {
  if (floats.length < length) floats = new Float32Array(length * 2);
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
function putAfter({ head, cells, start, end }, file) {
  let before = 0;
  const digest = readEarlier(head, (source) => {
    const { size } = fstatSync(source);
    reserve(Math.ceil(size / 4) + end - start);
    while (before < size) {
      const read = readSync(source, new Uint8Array(floats.buffer, before, size - before));
      if (read === 0) break;
      before += read;
    }
    return createHash("sha256").update(new Uint8Array(floats.buffer, 0, before));
  });
  const length = before / 4 + end - start;
  floats.set(cells.subarray(start, end), before / 4);
  const bytes = new Uint8Array(floats.buffer, 0, length * 4);
  writeFileSync(file, bytes);
  return { bytes: bytes.length, sha256: digest.update(bytes.subarray(before)).digest("hex") };
}
function put(content, file) {
  let bytes;
  if (typeof content === "string") bytes = Buffer.from(content);
  else {
    const { head, cells, start, end } = content;
    const length = end - start + 1;
    reserve(length);
    floats[0] = head;
    floats.set(cells.subarray(start, end), 1);
    bytes = new Uint8Array(floats.buffer, 0, length * 4);
  }
  writeFileSync(file, bytes);
  return { bytes: bytes.length, sha256: hash("sha256", bytes, "hex") };
}
function write({ path, content }, written) {
  const file = folder + "/" + path;
  const parent = file.slice(0, file.lastIndexOf("/"));
  if (!folders.has(parent)) mkdirSync(parent, { recursive: true });
  folders.add(parent);
  const isRun = content.cells !== undefined;
  const isAfter = isRun && typeof content.head === "object";
  const { bytes, sha256 } =
    content.source !== undefined ? take(content, file)
    : !isAfter ? put(content, file)
    : content.start === content.end ? take(content.head, file)
    : putAfter(content, file);
  written.bytes.push(bytes);
  written.sha256.push(sha256);
}
parentPort.on("message", (files) => {
  try {
    const written = { bytes: [], sha256: [] };
    for (const file of files) write(file, written);
    parentPort.postMessage(written);
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

  /** @param folder exists. */
  constructor(folder: string) {
    this.#worker = new Worker(PROGRAM, { eval: true, workerData: folder, execArgv: [] });
    this.#worker.on("error", (error) => this.#closed.abort(error));
  }

  /**
   * Writes whole files. The memory of their cells must not change until the promise is settled. One call at a time.
   *
   * @throws what the system throws, with its code; what has ended the thread.
   */
  async write(files: readonly NewFile[]): Promise<WrittenFiles> {
    const { signal } = this.#closed;
    signal.throwIfAborted();
    this.#worker.postMessage(files, []);
    const [reply] = (await once(this.#worker, "message", { signal })) as [Reply];
    if (!("fault" in reply)) return reply;
    const { message, code } = reply.fault;
    throw Object.assign(new Error(message), { code });
  }

  /** Ends the thread, after the file that it is writing. */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.#worker.terminate();
  }
}

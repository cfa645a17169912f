import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { FieldCells } from "../../panel/block.js";

/**
 * Numbers that a file has as 32-bit floats: the first one, then cells from `start` to `end`, exclusive. The cells are in
 * memory that threads share. An array that many files have cells of is sent to the thread once.
 */
export interface FloatRun {
  readonly head: number;
  readonly cells: FieldCells | Uint8Array;
  readonly start: number;
  readonly end: number;
}

/** A file to write. */
export interface NewFile {
  /** Path relative to the folder, with `/`. */
  readonly path: string;
  readonly content: string | FloatRun;
}

/** What was written: the size of each file in bytes, and its SHA-256 as hexadecimal digits. */
export interface WrittenFiles {
  readonly bytes: readonly number[];
  readonly sha256: readonly string[];
}

/** A response of the thread. */
type Reply = WrittenFiles | { readonly fault: { readonly message: string; readonly code?: string } };

/**
 * The program of the thread. It is a text, because a thread of a file would load the compiler of TypeScript in tests.
 */
const PROGRAM = `
const { hash } = require("node:crypto");
const { mkdirSync, writeFileSync } = require("node:fs");
const { parentPort, workerData: folder } = require("node:worker_threads");
const folders = new Set();
let floats = new Float32Array(0);
function bytesOf(content) {
  if (typeof content === "string") return Buffer.from(content);
  const { head, cells, start, end } = content;
  const length = end - start + 1;
  if (floats.length < length) floats = new Float32Array(length);
  floats[0] = head;
  floats.set(cells.subarray(start, end), 1);
  return new Uint8Array(floats.buffer, 0, length * 4);
}
function write({ path, content }, written) {
  const file = folder + "/" + path;
  const parent = file.slice(0, file.lastIndexOf("/"));
  if (!folders.has(parent)) mkdirSync(parent, { recursive: true });
  folders.add(parent);
  const bytes = bytesOf(content);
  writeFileSync(file, bytes);
  written.bytes.push(bytes.length);
  written.sha256.push(hash("sha256", bytes, "hex"));
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

// @ts-check
/* The thread of dataset-files.ts; JavaScript, so that Node runs it also from the sources. */

import { createHash, hash } from "node:crypto";
import {
  closeSync,
  copyFileSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  readSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { crc32 } from "node:zlib";

/**
 * @import { EarlierFile, FileThreadData, FileThreadReply, FloatFiles, NewFile } from "./dataset-files.js"
 */

/** @typedef {{ bytes: number, digest: string }} Written A file that was written, and its digest as in a list of digests. */
/** @typedef {FloatFiles["columns"][number] & { words: Uint32Array | undefined }} Column Words: the bits of the cells, where these are 32-bit floats. */

/** @type {typeof import("./dataset-files.js").EARLIER_FAULT} */
const EARLIER_FAULT = "EARLIER_FAULT";

const { folder, earlier, pieceBytes } = /** @type {FileThreadData} */ (workerData);
/** @type {Set<string>} */
const made = new Set();
const piece = new Uint8Array(pieceBytes);
let floats = new Float32Array(2 ** 15);

/** @param {number} length */
function reserve(length) {
  if (floats.length >= length) return;
  const before = floats;
  floats = new Float32Array(length * 2);
  floats.set(before);
}

/** Where the line of the last file ended in the list of the earlier dataset: those of most files follow each other. */
let cursor = 0;
/** Before a CRC-32 in a line of the list. */
const MARK = "# crc32 ";

/**
 * What the list of the earlier dataset says of a file of floats.
 *
 * @param {string} path
 * @returns {{ crc: number, bytes: number, digest: string }}
 */
function listed(path) {
  const list = earlier?.list ?? "";
  const end = `  ${path}\n`;
  let at = list.indexOf(end, cursor);
  if (at < 0) at = list.indexOf(end);
  const start = at < 0 ? 0 : list.lastIndexOf("\n", at) + 1;
  if (at < 0 || !list.startsWith(MARK, start)) throw earlierFault(`${path} is not in the list of files`);
  cursor = at + end.length - 1;
  const digest = list.slice(start, at);
  const gap = digest.indexOf(" ", MARK.length);
  return {
    crc: Number.parseInt(digest.slice(MARK.length, gap), 16),
    bytes: Number(digest.slice(gap + 1)),
    digest,
  };
}

/**
 * @param {string} message
 * @param {unknown} [cause]
 */
function earlierFault(message, cause) {
  return Object.assign(new Error(message, { cause }), { code: EARLIER_FAULT });
}

/** @param {string} source @param {string} flags */
function openEarlier(source, flags) {
  try {
    return openSync(source, flags);
  } catch (cause) {
    throw earlierFault(/** @type {Error} */ (cause).message, cause);
  }
}

/**
 * @param {EarlierFile} from
 * @param {string} file
 * @returns {Written}
 */
function take({ source, sha256 }, file) {
  const opened = openEarlier(source, "r");
  const digest = createHash("sha256");
  let bytes = 0;
  try {
    for (let read; (read = readSync(opened, piece)) > 0; bytes += read)
      digest.update(piece.subarray(0, read));
  } finally {
    closeSync(opened);
  }
  if (digest.digest("hex") !== sha256) throw earlierFault(`${source} is not what was written`);
  try {
    linkSync(source, file);
  } catch {
    copyFileSync(source, file);
  }
  return { bytes, digest: sha256 };
}

/**
 * @param {number} crc
 * @param {number} bytes
 * @returns {Written}
 */
function writtenFloats(crc, bytes) {
  return { bytes, digest: `${MARK}${crc.toString(16).padStart(8, "0")} ${bytes}` };
}

/**
 * Writes cells after those that the list of the earlier dataset says a file has. What follows them, of an append that
 * was stopped, is overwritten or cut off.
 *
 * @param {string} path
 * @param {ArrayLike<number>} cells
 * @returns {Written}
 */
function putAfter(path, cells) {
  const { crc, bytes: before, digest } = listed(path);
  reserve(cells.length);
  floats.set(cells);
  const bytes = new Uint8Array(floats.buffer, 0, cells.length * 4);
  const end = before + bytes.length;
  const source = `${earlier?.folder}/${path}`;
  const file = openEarlier(source, "r+");
  try {
    // From the last byte that it must have: to read takes a fraction of asking for the size.
    if (readSync(file, piece, 0, 1, before - 1) === 0)
      throw earlierFault(`${source} is shorter than what was written`);
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at, before + at);
    ftruncateSync(file, end);
  } finally {
    closeSync(file);
  }
  return bytes.length === 0 ? { bytes: end, digest } : writtenFloats(crc32(bytes, crc), end);
}

/**
 * @param {Uint8Array} bytes
 * @param {string} file
 * @returns {Written}
 */
function putFloats(bytes, file) {
  writeFileSync(file, bytes);
  return writtenFloats(crc32(bytes), bytes.length);
}

/**
 * @param {Uint8Array} bytes
 * @param {string} file
 * @returns {Written}
 */
function put(bytes, file) {
  writeFileSync(file, bytes);
  return { bytes: bytes.length, digest: hash("sha256", bytes, "hex") };
}

/**
 * @param {number} head
 * @param {Column} column
 * @param {number} start
 * @param {number} end exclusive.
 * @param {string} file
 * @returns {Written}
 */
function putRun(head, { cells, words }, start, end, file) {
  if (words === undefined || start === 0) {
    const length = end - start + 1;
    reserve(length);
    floats[0] = head;
    floats.set(cells.subarray(start, end), 1);
    return putFloats(new Uint8Array(floats.buffer, 0, length * 4), file);
  }
  // Nothing is copied: a copy of shared memory takes half as long as its hash.
  // The cell before is restored as bits: as a number, a NaN could come back with other ones.
  const before = /** @type {number} */ (words[start - 1]);
  cells[start - 1] = head;
  try {
    return putFloats(
      new Uint8Array(cells.buffer, cells.byteOffset + (start - 1) * 4, (end - start + 1) * 4),
      file,
    );
  } finally {
    words[start - 1] = before;
  }
}

/** @param {string} path */
function makeFolder(path) {
  if (!made.has(path)) mkdirSync(`${folder}/${path}`, { recursive: true });
  made.add(path);
}

/**
 * @param {NewFile} file
 * @returns {Written}
 */
function write({ path, content }) {
  makeFolder(path.slice(0, Math.max(0, path.lastIndexOf("/"))));
  const file = `${folder}/${path}`;
  return typeof content === "string" ? put(Buffer.from(content), file) : take(content, file);
}

/**
 * @param {FloatFiles} files
 * @param {(path: string, written: Written) => void} record
 */
function writeFloats({ folders, heads, starts, ends, columns: given }, record) {
  const columns = given.map(({ name, cells }) => ({
    name,
    cells,
    words:
      cells instanceof Float32Array
        ? new Uint32Array(cells.buffer, cells.byteOffset, cells.length)
        : undefined,
  }));
  for (const [s, own] of folders.entries()) {
    const [head = 0, start = 0, end = 0] = [heads[s], starts[s], ends[s]];
    const isNew = !Number.isNaN(head);
    if (isNew) makeFolder(own);
    for (const column of columns) {
      const path = `${own}/${column.name}`;
      const written = isNew
        ? putRun(head, column, start, end, `${folder}/${path}`)
        : putAfter(path, column.cells.subarray(start, end));
      record(path, written);
    }
  }
}

/**
 * @param {readonly NewFile[] | FloatFiles} files
 * @returns {FileThreadReply}
 */
function writeAll(files) {
  /** @type {string[]} */
  const lines = [];
  let size = 0;
  const record = (/** @type {string} */ path, /** @type {Written} */ { bytes, digest }) => {
    size += bytes;
    lines.push(`${digest}  ${path}\n`);
  };
  if ("columns" in files) writeFloats(files, record);
  else for (const file of files) record(file.path, write(file));
  return { bytes: size, lines: lines.join("") };
}

parentPort?.on("message", (/** @type {readonly NewFile[] | FloatFiles} */ files) => {
  let reply;
  try {
    reply = writeAll(files);
  } catch (error) {
    const { message, code } = /** @type {NodeJS.ErrnoException} */ (error);
    reply = { fault: { message, code } };
  }
  parentPort?.postMessage(reply, []);
});

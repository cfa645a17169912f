// @ts-check
/* The thread of dataset-files.ts; JavaScript, so that Node runs it also from the sources. */

import { createHash, hash } from "node:crypto";
import { closeSync, copyFileSync, linkSync, mkdirSync, openSync, readSync, writeFileSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";

/**
 * @import { Hash } from "node:crypto"
 * @import { EarlierFile, FileThreadData, FileThreadReply, FloatFiles, NewFile } from "./dataset-files.js"
 */

/** @typedef {{ bytes: number, sha256: string }} Written A file that was written. */
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

/** @type {Map<string, string> | undefined} */
let digests;

/**
 * A file of the earlier dataset. One that its list does not have is found to be damaged.
 *
 * @param {string} path
 * @returns {EarlierFile}
 */
function earlierFile(path) {
  digests ??= new Map(
    earlier?.list.split("\n").map((line) => {
      const gap = line.indexOf("  ");
      return [line.slice(gap + 2), line.slice(0, gap)];
    }),
  );
  return { source: `${earlier?.folder}/${path}`, sha256: digests.get(path) ?? "" };
}

/**
 * Reads an earlier file.
 *
 * @param {EarlierFile} file
 * @param {(descriptor: number) => Hash} use returns a hash of all its bytes.
 */
function readEarlier({ source, sha256 }, use) {
  let digest;
  try {
    const file = openSync(source, "r");
    try {
      digest = use(file);
    } finally {
      closeSync(file);
    }
  } catch (cause) {
    throw Object.assign(new Error(/** @type {Error} */ (cause).message, { cause }), { code: EARLIER_FAULT });
  }
  if (digest.copy().digest("hex") !== sha256)
    throw Object.assign(new Error(`${source} is not what was written`), { code: EARLIER_FAULT });
  return digest;
}

/**
 * @param {EarlierFile} from
 * @param {string} file
 * @returns {Written}
 */
function take(from, file) {
  let bytes = 0;
  readEarlier(from, (source) => {
    const digest = createHash("sha256");
    for (let read; (read = readSync(source, piece)) > 0; bytes += read)
      digest.update(piece.subarray(0, read));
    return digest;
  });
  try {
    linkSync(from.source, file);
  } catch {
    copyFileSync(from.source, file);
  }
  return { bytes, sha256: from.sha256 };
}

/**
 * The digest of an earlier file's bytes is the state from which that of the whole is computed.
 *
 * @param {EarlierFile} from
 * @param {ArrayLike<number>} cells
 * @param {string} file
 * @returns {Written}
 */
function putAfter(from, cells, file) {
  let before = 0;
  const digest = readEarlier(from, (source) => {
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

/**
 * @param {Uint8Array} bytes
 * @param {string} file
 * @returns {Written}
 */
function put(bytes, file) {
  writeFileSync(file, bytes);
  return { bytes: bytes.length, sha256: hash("sha256", bytes, "hex") };
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
    return put(new Uint8Array(floats.buffer, 0, length * 4), file);
  }
  // Nothing is copied: a copy of shared memory takes half as long as its hash.
  // The cell before is restored as bits: as a number, a NaN could come back with other ones.
  const before = /** @type {number} */ (words[start - 1]);
  cells[start - 1] = head;
  try {
    return put(new Uint8Array(cells.buffer, cells.byteOffset + (start - 1) * 4, (end - start + 1) * 4), file);
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
    makeFolder(own);
    const [head = 0, start = 0, end = 0] = [heads[s], starts[s], ends[s]];
    for (const column of columns) {
      const path = `${own}/${column.name}`;
      const file = `${folder}/${path}`;
      if (!Number.isNaN(head)) record(path, putRun(head, column, start, end, file));
      else if (start === end) record(path, take(earlierFile(path), file));
      else record(path, putAfter(earlierFile(path), column.cells.subarray(start, end), file));
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
  const record = (/** @type {string} */ path, /** @type {Written} */ { bytes, sha256 }) => {
    size += bytes;
    lines.push(`${sha256}  ${path}\n`);
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

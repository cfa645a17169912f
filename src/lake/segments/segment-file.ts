import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { crc32 } from "node:zlib";
import { lowerBound } from "../../core/lower-bound.js";
import { BLOCK_COLUMNS, type BlockColumn } from "./block.js";
import type { BlockPlace } from "./block-thread.js";

/**
 * A segment: the bars of one data file as blocks, each of one symbol, then the index of the blocks, then a trailer. It
 * is read with synchronous system calls. They take 5 microseconds from the page cache; calls through the thread pool
 * take 50.
 */

/**
 * The index of a segment. Its arrays have one entry for each block, in ascending order of the symbols; the blocks of
 * one symbol are in the order of time.
 */
export interface SegmentIndex {
  /** The data file that the segment was made from, relative to the lake. */
  readonly identity: string;
  readonly symbols: readonly string[];
  readonly rows: Uint32Array;
  /** Where each block begins in the file, its length and its CRC-32. */
  readonly offsets: Float64Array;
  readonly lengths: Uint32Array;
  readonly checksums: Uint32Array;
  /** Epoch microseconds of the first and last bar. */
  readonly firstTimes: Float64Array;
  readonly lastTimes: Float64Array;
  /** Days since 1970-01-01 of the first and last bar. */
  readonly firstDays: Int32Array;
  readonly lastDays: Int32Array;
}

/**
 * Identifies the format of a segment, apart from its columns, and the byte order of the machine. Another format has
 * another number.
 */
const FORM = 0xba71a5e2;
const MAGIC = magicOf(BLOCK_COLUMNS);

/**
 * The number that identifies segments whose blocks have these columns, in this order. Segments with another number are
 * never read.
 */
export function magicOf(columns: readonly BlockColumn[]): number {
  const text = columns.map(({ name, type, width }) => `${name} ${type} ${width}`).join("\n");
  return (FORM ^ crc32(text)) >>> 0;
}

/**
 * The words of a trailer: magic, CRC-32 of the index, number of blocks, bytes of the identity, bytes of the symbols'
 * texts, and the CRC-32 of the words before it.
 */
const TRAILER_WORDS = 6;
const TRAILER_BYTES = TRAILER_WORDS * 4;
/** The permissions with which a file's group, or all users, may write to it. */
const OTHERS_WRITE = 0o022;

const padded = (bytes: number): number => Math.ceil(bytes / 8) * 8;

/** The end of a segment: its index, and the trailer. */
export function encodeIndex(index: SegmentIndex): Uint8Array {
  const identity = Buffer.from(index.identity);
  const symbols = Buffer.from(index.symbols.join("\n"));
  const layout = layoutOf(identity.length, symbols.length, index.symbols.length);
  const bytes = new Uint8Array(layout.end + TRAILER_BYTES);
  bytes.set(identity, 0);
  bytes.set(symbols, identity.length);
  const arrays = arraysAt(bytes, layout, index.symbols.length);
  for (const name of ARRAYS) arrays[name].set(index[name]);
  const words = new Uint32Array(bytes.buffer, layout.end, TRAILER_WORDS);
  const checksum = crc32(bytes.subarray(0, layout.end));
  words.set([MAGIC, checksum, index.symbols.length, identity.length, symbols.length]);
  words[5] = checksumOf(bytes.subarray(layout.end));
  return bytes;
}

/** The checksum of the words of a trailer that precede it. */
function checksumOf(trailer: Uint8Array): number {
  return crc32(trailer.subarray(0, TRAILER_BYTES - 4));
}

/** The arrays of an index. Arrays whose values have 8 bytes come first. */
const ARRAYS = [
  "offsets",
  "firstTimes",
  "lastTimes",
  "rows",
  "lengths",
  "checksums",
  "firstDays",
  "lastDays",
] as const;

interface IndexLayout {
  /** Where the arrays begin, and where the index ends, in bytes from the start of the index. */
  readonly arrays: number;
  readonly end: number;
}

function layoutOf(identityBytes: number, symbolBytes: number, blocks: number): IndexLayout {
  const arrays = padded(identityBytes + symbolBytes);
  return { arrays, end: padded(arrays + blocks * (3 * 8 + 5 * 4)) };
}

function arraysAt(
  { buffer, byteOffset }: Uint8Array,
  { arrays }: IndexLayout,
  blocks: number,
): Pick<SegmentIndex, (typeof ARRAYS)[number]> {
  let at = byteOffset + arrays;
  const next = (width: number): number => {
    const start = at;
    at += blocks * width;
    return start;
  };
  const doubles = (): Float64Array => new Float64Array(buffer, next(8), blocks);
  const words = (): Uint32Array => new Uint32Array(buffer, next(4), blocks);
  const integers = (): Int32Array => new Int32Array(buffer, next(4), blocks);
  return {
    offsets: doubles(),
    firstTimes: doubles(),
    lastTimes: doubles(),
    rows: words(),
    lengths: words(),
    checksums: words(),
    firstDays: integers(),
    lastDays: integers(),
  };
}

/**
 * The error for a segment that is not what was written. Its rows are read from the data file, and it is built again.
 */
export class DamagedSegment extends Error {
  override readonly name = "DamagedSegment";
}

/**
 * The error for a segment that belongs to another user of this machine, who could have written any content. It is
 * neither used nor deleted.
 */
export class ForeignSegment extends Error {
  override readonly name = "ForeignSegment";
}

/**
 * Checks the owner of a file. @throws {ForeignSegment} for a file of another user. @throws {DamagedSegment} for a file
 * that other users may write.
 */
function expectOwn(descriptor: number, identity: string): void {
  const { uid, mode } = fstatSync(descriptor);
  const own = process.getuid?.();
  if (own === undefined) return;
  if (uid !== own) throw new ForeignSegment(`${identity}: its segment belongs to another user`);
  if ((mode & OTHERS_WRITE) !== 0) throw new DamagedSegment(`${identity}: others may write its segment`);
}

/** The memory into which all segments read their blocks, one block at a time. */
let scratch = new Uint8Array(2 ** 16);

export class SegmentFile implements Disposable {
  readonly index: SegmentIndex;
  readonly #descriptor: number;
  #isClosed = false;

  private constructor(descriptor: number, index: SegmentIndex) {
    this.#descriptor = descriptor;
    this.index = index;
  }

  /**
   * @returns undefined where there is none.
   * @throws {DamagedSegment} where the file is not a segment of this data file, or other users may write it;
   *   {ForeignSegment} where it belongs to another user; errors of the system.
   */
  static open(path: string, identity: string): SegmentFile | undefined {
    let descriptor: number;
    try {
      descriptor = openSync(path, "r");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
    try {
      expectOwn(descriptor, identity);
      return new SegmentFile(descriptor, readIndex(descriptor, identity));
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
  }

  /** The entries of a symbol, `end` exclusive: none where the data file has no bar of it. */
  entriesOf(symbol: string): { readonly first: number; readonly end: number } {
    const { symbols } = this.index;
    const first = lowerBound(0, symbols.length, (entry) => (symbols[entry] as string) >= symbol);
    let end = first;
    while (symbols[end] === symbol) end += 1;
    return { first, end };
  }

  /** Where the block of an entry is, for a reader that verifies its checksum. */
  placeOf(entry: number): BlockPlace {
    const { offsets, lengths, checksums } = this.index;
    return {
      descriptor: this.#descriptor,
      offset: offsets[entry] as number,
      length: lengths[entry] as number,
      checksum: checksums[entry] as number,
    };
  }

  /**
   * Reads the block of an entry, and verifies its checksum.
   *
   * @returns bytes that are valid until the next block, of any segment, is read.
   * @throws {DamagedSegment} where the checksum differs; errors of the system.
   */
  read(entry: number): Uint8Array {
    const length = this.index.lengths[entry] as number;
    if (scratch.length < length) scratch = new Uint8Array(Math.max(length, scratch.length * 2));
    const block = scratch.subarray(0, length);
    const read = readSync(this.#descriptor, block, 0, length, this.index.offsets[entry] as number);
    if (read === length && crc32(block) === this.index.checksums[entry]) return block;
    throw new DamagedSegment(`${this.index.identity}: block ${entry} is not what was written`);
  }

  [Symbol.dispose](): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    closeSync(this.#descriptor);
  }
}

function readIndex(descriptor: number, identity: string): SegmentIndex {
  const damaged = new DamagedSegment(`${identity}: its segment is not what was written`);
  const readAt = (start: number, end: number): Uint8Array => {
    const bytes = new Uint8Array(end - start);
    if (readSync(descriptor, bytes, 0, bytes.length, start) !== bytes.length) throw damaged;
    return bytes;
  };
  const { size } = fstatSync(descriptor);
  if (size < TRAILER_BYTES) throw damaged;
  const trailer = readAt(size - TRAILER_BYTES, size);
  const words = new Uint32Array(trailer.buffer);
  const [magic, checksum, blocks = 0, identityBytes = 0, symbolBytes = 0, own] = words;
  const layout = layoutOf(identityBytes, symbolBytes, blocks);
  if (magic !== MAGIC || own !== checksumOf(trailer)) throw damaged;
  const start = size - TRAILER_BYTES - layout.end;
  if (start < 0) throw damaged;
  const bytes = readAt(start, size - TRAILER_BYTES);
  if (crc32(bytes) !== checksum) throw damaged;
  const text = Buffer.from(bytes.buffer, 0, identityBytes + symbolBytes).toString();
  if (text.slice(0, identity.length) !== identity || identityBytes !== Buffer.byteLength(identity))
    throw damaged;
  const names = text.slice(identity.length);
  return { identity, symbols: names === "" ? [] : names.split("\n"), ...arraysAt(bytes, layout, blocks) };
}

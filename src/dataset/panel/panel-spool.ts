import { closeSync, openSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import { BarlakeError } from "../../core/errors.js";
import { writeFaultOf } from "../../db/file-fault.js";
import type { Block, PanelShape } from "./block.js";

/** The file of a column, and the size of its cells in bytes. */
interface ColumnFile {
  readonly path: string;
  readonly fd: number;
  readonly width: number;
}

/** Some labels of all symbols. */
export interface Slice {
  readonly start: number;
  readonly width: number;
}

/**
 * A dataset's cells in files, one per column, so that they can be read by time as well as by symbol, and memory
 * contains one slice. A class because it owns the files.
 */
export class PanelSpool {
  readonly #shape: PanelShape;
  readonly #files: readonly ColumnFile[];
  /** First and last label of each symbol with trades; -1 where it has none. */
  readonly first: Int32Array;
  readonly last: Int32Array;

  constructor(folder: string, shape: PanelShape) {
    this.#shape = shape;
    const widths = [...shape.fields.map(() => 8), ...shape.masks.map(() => 1)];
    this.#files = widths.map((width, i) => {
      const path = join(folder, `column-${i}`);
      return { path, width, fd: openSync(path, "w+") };
    });
    this.first = new Int32Array(shape.symbols.length).fill(-1);
    this.last = new Int32Array(shape.symbols.length).fill(-1);
  }

  /** Writes a block's cells. @throws {BarlakeError} where the disk is full. */
  write({ start, width, fields, masks, first, last }: Block): void {
    for (const [i, cells] of [...fields, ...masks].entries()) {
      const { fd, width: bytes, path } = this.#files[i] as ColumnFile;
      writeWhole(
        fd,
        new Uint8Array(cells.buffer, cells.byteOffset, cells.byteLength),
        start * width * bytes,
        path,
      );
    }
    this.first.set(first, start);
    this.last.set(last, start);
  }

  /** Cells of a field, by symbol, then label. */
  field(index: number, { start, width }: Slice): Float64Array {
    return new Float64Array(this.#read(index, start, width).buffer);
  }

  /** Cells of a mask; 0 or 1. */
  mask(index: number, { start, width }: Slice): Uint8Array {
    return this.#read(this.#shape.fields.length + index, start, width);
  }

  close(): void {
    for (const { fd } of this.#files) closeSync(fd);
  }

  #read(index: number, start: number, width: number): Uint8Array {
    const { fd, width: bytes } = this.#files[index] as ColumnFile;
    const { symbols, labels } = this.#shape;
    const cells = new Uint8Array(symbols.length * width * bytes);
    if (width === labels.count) {
      readWhole(fd, cells, 0);
      return cells;
    }
    for (let s = 0; s < symbols.length; s++) {
      const row = cells.subarray(s * width * bytes, (s + 1) * width * bytes);
      readWhole(fd, row, (s * labels.count + start) * bytes);
    }
    return cells;
  }
}

/** Most bytes of a slice of all columns. */
const SLICE_BYTES = 96 * 2 ** 20;

/**
 * The slices, in order of time, that fit into memory with so many bytes per cell. Sizes depend only on the shape.
 *
 * @param most bytes of a slice of all columns.
 */
export function slicesOf(
  { symbols, labels }: PanelShape,
  bytesPerCell: number,
  most: number = SLICE_BYTES,
): Slice[] {
  const width = Math.max(1, Math.floor(most / (Math.max(1, symbols.length) * bytesPerCell)));
  const slices: Slice[] = [];
  for (let start = 0; start < labels.count; start += width)
    slices.push({ start, width: Math.min(width, labels.count - start) });
  return slices;
}

function writeWhole(fd: number, bytes: Uint8Array, position: number, path: string): void {
  try {
    for (let done = 0; done < bytes.length; )
      done += writeSync(fd, bytes, done, bytes.length - done, position + done);
  } catch (cause) {
    const fault = writeFaultOf(cause, path);
    throw fault === undefined ? cause : new BarlakeError(fault.message, { hint: fault.hint, cause });
  }
}

function readWhole(fd: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length; ) {
    const read = readSync(fd, bytes, done, bytes.length - done, position + done);
    if (read === 0) throw new BarlakeError("a dataset's scratch file ends too early");
    done += read;
  }
}

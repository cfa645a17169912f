import { closeSync, openSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { RecordBatch } from "apache-arrow";
import { type BatchColumn, columnBatch, wordList } from "../../arrow/column-batch.js";
import { BarlakeError } from "../../core/errors.js";
import { dateOfEpochDay } from "../../core/time.js";
import { writeFaultOf } from "../../db/file-fault.js";
import type { Region } from "../../market/regions.js";
import { dayRange } from "../../market/sessions.js";
import type { Block, PanelShape } from "./block.js";

/** The file of a column, and the size of its cells in bytes. */
interface ColumnFile {
  readonly path: string;
  readonly fd: number;
  readonly width: number;
}

export interface Slice {
  readonly start: number;
  readonly width: number;
}

/**
 * A dataset's cells in files, one per column, so that they can be read by time as well as by symbol, and memory
 * contains one slice.
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

/** The slices, in order of time, of at most so many bytes for all columns. Sizes depend only on the shape. */
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

/** Most rows of a batch, unless one label has more. */
const BATCH_ROWS = 65_536;

/** Most bytes of a slice: the next one is read before the memory of the last one is free. */
const BATCH_BYTES = 24 * 2 ** 20;

/**
 * A dataset's rows in order of time, then symbol, as record batches: `symbol` (a dictionary), `trade_date`, `timestamp`
 * (UTC), the fields and the masks. A symbol has a row for every label from its first to its last; null means no value.
 */
export function* panelBatches(spool: PanelSpool, shape: PanelShape): Generator<RecordBatch, void, undefined> {
  const { fields, masks, symbols } = shape;
  const words = wordList(symbols.map(({ symbol }) => symbol));
  const times = labelTimes(shape);
  const timesOf = symbols.map(({ region }) => times.get(region) as BigInt64Array);
  for (const slice of slicesOf(shape, fields.length * 8 + masks.length, BATCH_BYTES)) {
    const cells = fields.map((_, f) => spool.field(f, slice));
    const marks = masks.map((_, m) => spool.mask(m, slice));
    for (const { symbol, label, rows } of rowsByTime(spool, slice)) {
      const pick = <T extends Float64Array | Uint8Array>(from: T, to: T): T => {
        for (let row = 0; row < rows; row++)
          to[row] = from[
            (symbol[row] as number) * slice.width + (label[row] as number) - slice.start
          ] as number;
        return to;
      };
      const columns: BatchColumn[] = [
        { name: "symbol", kind: "word", values: symbol.slice(0, rows), words },
        {
          name: "trade_date",
          kind: "date",
          values: Int32Array.from(
            { length: rows },
            (_, row) => shape.labels.days[label[row] as number] as number,
          ),
        },
        {
          name: "timestamp",
          kind: "milliseconds",
          values: BigInt64Array.from(
            { length: rows },
            (_, row) => timesOf[symbol[row] as number]?.[label[row] as number] as bigint,
          ),
        },
        ...fields.map(
          ({ name }, f): BatchColumn => ({
            name,
            kind: "double",
            nanIsNull: true,
            values: pick(cells[f] as Float64Array, new Float64Array(rows)),
          }),
        ),
        ...masks.map(
          (name, m): BatchColumn => ({
            name,
            kind: "boolean",
            values: pick(marks[m] as Uint8Array, new Uint8Array(rows)),
          }),
        ),
      ];
      yield columnBatch(columns, rows);
    }
  }
}

/** Some rows of a slice: their symbols and labels. The arrays are reused for the next rows. */
interface Rows {
  readonly symbol: Int32Array;
  readonly label: Int32Array;
  readonly rows: number;
}

function* rowsByTime({ first, last }: PanelSpool, { start, width }: Slice): Generator<Rows, void, undefined> {
  const most = Math.max(BATCH_ROWS, first.length);
  const symbol = new Int32Array(most);
  const label = new Int32Array(most);
  let rows = 0;
  for (let at = start; at < start + width; at++) {
    if (rows > 0 && rows + first.length > most) {
      yield { symbol, label, rows };
      rows = 0;
    }
    for (let s = 0; s < first.length; s++) {
      if ((first[s] as number) < 0 || at < (first[s] as number) || at > (last[s] as number)) continue;
      symbol[rows] = s;
      label[rows] = at;
      rows++;
    }
  }
  if (rows > 0) yield { symbol, label, rows };
}

/** Times of all labels in epoch milliseconds, by region: for dates, midnight in the zone of its exchanges. */
type LabelTimes = ReadonlyMap<Region, BigInt64Array>;

export function labelTimes({ labels, symbols }: PanelShape): LabelTimes {
  const { times, days } = labels;
  const ends = times && BigInt64Array.from(times, BigInt);
  const midnights = (region: Region): BigInt64Array =>
    BigInt64Array.from(days, (day) => BigInt(dayRange(region, dateOfEpochDay(day)).start));
  const regions = new Set(symbols.map(({ region }) => region));
  return new Map([...regions].map((region) => [region, ends ?? midnights(region)]));
}

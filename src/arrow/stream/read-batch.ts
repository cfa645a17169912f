import { FlatError, type FlatTable } from "./flat-table.js";

/** Where a column is in each batch. */
export interface ColumnPlace {
  /** Number of its field. */
  readonly node: number;
  /** Number of its first buffer. */
  readonly buffer: number;
}

/** A type of the elements of a buffer. */
export interface NumbersOf<Values> {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBufferLike, offset: number, length: number): Values;
}

type Numbers = Float64Array | BigInt64Array | Int32Array | Int16Array | Int8Array | Uint8Array;

/** A column of a batch, without a copy. */
export interface BatchColumn<Values> {
  /** The index of each row. */
  readonly values: Values;
  readonly nulls: number;
  /** One bit a row; undefined where no row is null. */
  readonly validity: Uint8Array | undefined;
}

/** A record batch as it was read; every buffer is checked to be within the body and to have its rows. */
export class ReadBatch {
  readonly rows: number;
  readonly #header: FlatTable;
  readonly #body: Uint8Array;

  /** @param body its memory begins at a multiple of 8 bytes. @throws {FlatError} */
  constructor(header: FlatTable, body: Uint8Array) {
    if (header.table(3) !== undefined) throw new FlatError("batch is compressed, which was not asked for");
    this.#header = header;
    this.#body = body;
    this.rows = header.size(0);
  }

  /** @throws {FlatError} where the batch has no such column with its rows. */
  column<Values extends Numbers>(
    { node, buffer }: ColumnPlace,
    make: NumbersOf<Values>,
  ): BatchColumn<Values> {
    const nodes = this.#header.vector(1, 16);
    if (node >= nodes.length) throw new FlatError(`batch has ${nodes.length} columns`);
    const [length, nulls] = [0, 8].map((at) => this.#header.sizeAt(nodes.at(node) + at));
    if (length !== this.rows || nulls === undefined || nulls > length)
      throw new FlatError(
        `column ${node} of a batch of ${this.rows} rows has ${length}, ${nulls} of them null`,
      );
    return {
      values: this.numbers(buffer + 1, this.rows, make),
      nulls,
      validity: nulls === 0 ? undefined : this.numbers(buffer, Math.ceil(this.rows / 8), Uint8Array),
    };
  }

  /** The first elements of a buffer. @throws {FlatError} where it has fewer. */
  numbers<Values extends Numbers>(buffer: number, count: number, make: NumbersOf<Values>): Values {
    const buffers = this.#header.vector(2, 16);
    if (buffer >= buffers.length) throw new FlatError(`batch has ${buffers.length} buffers`);
    const offset = this.#header.sizeAt(buffers.at(buffer));
    const bytes = this.#header.sizeAt(buffers.at(buffer) + 8);
    if (offset % 8 !== 0 || offset + bytes > this.#body.length)
      throw new FlatError(`buffer ${buffer} is at ${offset}, not within the body`);
    if (count * make.BYTES_PER_ELEMENT > bytes)
      throw new FlatError(`buffer ${buffer} has ${bytes} bytes, too few for ${count} rows`);
    return new make(this.#body.buffer, this.#body.byteOffset + offset, count);
  }

  /** The texts of the batch's only column. @throws {FlatError} where it is no column of texts. */
  texts(): string[] {
    const { nulls } = this.column({ node: 0, buffer: 0 }, Uint8Array);
    if (nulls > 0) throw new FlatError("dictionary has a null");
    const offsets = this.numbers(1, this.rows + 1, Int32Array);
    const bytes = this.numbers(2, offsets[this.rows] as number, Uint8Array);
    return Array.from({ length: this.rows }, (_, row) => {
      const [start, end] = [offsets[row] as number, offsets[row + 1] as number];
      if (start < 0 || end < start || end > bytes.length)
        throw new FlatError("dictionary has texts that overlap");
      return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString("utf8");
    });
  }
}

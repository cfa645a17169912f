import { crc32 } from "node:zlib";
import type { FixedType, ResultRows } from "../../arrow/scan/result-columns.js";
import { copyBits, countZeros } from "../../core/bits.js";
import { int64At } from "../../core/int64-words.js";
import { BLOCK_COLUMNS, type BlockColumn, type ColumnValues, encodeBlock, mostBytes } from "./block.js";

/** The columns that a query selects for a {@link BlockWriter}, and how their values are read. */
export const BLOCK_SHAPE: Readonly<Record<string, FixedType>> = Object.fromEntries(
  BLOCK_COLUMNS.map(({ name, type, width }) => [
    name,
    type === "double" ? "double" : width === 8 ? "int64" : "int32",
  ]),
);

/** Times and days of the first and last bar of a block. */
export interface BlockEnds {
  readonly firstTime: number;
  readonly lastTime: number;
  readonly firstDay: number;
  readonly lastDay: number;
}

/** A finished block. */
export interface WrittenBlock extends BlockEnds {
  readonly bytes: Uint8Array;
  readonly checksum: number;
}

/** A column of a chunk: its values in DuckDB's memory, as bytes. */
interface ChunkColumn {
  readonly bytes: Uint8Array;
  readonly validity: Uint8Array | undefined;
}

/** The error for a data file from which no segment can be made. Its bars are read from the data file. */
export class NotSegmentable extends Error {
  override readonly name = "NotSegmentable";
}

const indexOf = (name: string): number => BLOCK_COLUMNS.findIndex((column) => column.name === name);
const [TIME, DAY, VOLUME, LOT] = ["timestamp", "trade_date", "volume", "lot"].map(indexOf) as [
  number,
  number,
  number,
  number,
];

/**
 * Collects the rows of one block after the other. It rejects rows that a reader of segments does
 * not expect: bars that do not ascend, a null in a required column, a product of volume and lot that is not exact as a
 * double. A class because it owns the memory of the block.
 */
export class BlockWriter {
  readonly #nullable: readonly boolean[];
  readonly #bytes: readonly Uint8Array[];
  readonly #validity: readonly Uint8Array[];
  readonly #hasNulls: boolean[];
  readonly #encoded: Uint8Array;
  #rows = 0;

  /** @param most largest number of rows of a block. @param nullable the names of columns that may have nulls. */
  constructor(most: number, nullable: ReadonlySet<string>) {
    this.#nullable = BLOCK_COLUMNS.map(({ name }) => nullable.has(name));
    this.#bytes = BLOCK_COLUMNS.map(({ width }) => new Uint8Array(most * width));
    this.#validity = BLOCK_COLUMNS.map(() => new Uint8Array(Math.ceil(most / 8)));
    this.#hasNulls = BLOCK_COLUMNS.map(() => false);
    this.#encoded = new Uint8Array(mostBytes(most));
  }

  /** Rows of the block so far. */
  get rows(): number {
    return this.#rows;
  }

  /**
   * Adds rows of a chunk of the query. @param chunk the columns of {@link BLOCK_SHAPE}. @param from the first of the
   * rows.
   */
  add(chunk: readonly ChunkColumn[], from: number, count: number): void {
    for (const [index, { bytes, validity }] of chunk.entries()) {
      const { width } = BLOCK_COLUMNS[index] as BlockColumn;
      const target = this.#validity[index] as Uint8Array;
      (this.#bytes[index] as Uint8Array).set(
        bytes.subarray(from * width, (from + count) * width),
        this.#rows * width,
      );
      copyBits(validity, from, count, target, this.#rows);
      if (validity === undefined || countZeros(target, this.#rows, this.#rows + count) === 0) continue;
      if (!this.#nullable[index]) throw new NotSegmentable(`a null in ${BLOCK_COLUMNS[index]?.name}`);
      this.#hasNulls[index] = true;
    }
    this.#rows += count;
  }

  /** Finishes the block, and begins the next one. @throws {NotSegmentable} */
  finish(): WrittenBlock {
    const ends = this.#checkedEnds();
    const columns = BLOCK_COLUMNS.map(
      (_, index): ColumnValues => ({
        bytes: this.#bytes[index] as Uint8Array,
        validity: this.#validity[index] as Uint8Array,
        hasNulls: this.#hasNulls[index] === true,
      }),
    );
    const bytes = this.#encoded.slice(0, encodeBlock(columns, this.#rows, this.#encoded));
    this.#rows = 0;
    this.#hasNulls.fill(false);
    return { ...ends, bytes, checksum: crc32(bytes) };
  }

  #checkedEnds(): BlockEnds {
    const rows = this.#rows;
    const memory = (index: number) => (this.#bytes[index] as Uint8Array).buffer;
    const [times, volumes] = [new Uint32Array(memory(TIME)), new Uint32Array(memory(VOLUME))];
    const [days, lots] = [new Int32Array(memory(DAY)), new Int32Array(memory(LOT))];
    for (let row = 0; row < rows; row++) {
      if (row > 0 && !(int64At(times, row) > int64At(times, row - 1)))
        throw new NotSegmentable("its bars do not ascend");
      if (row > 0 && (days[row] as number) < (days[row - 1] as number))
        throw new NotSegmentable("its trading dates do not ascend");
      const [volume, lot] = [int64At(volumes, row), lots[row] as number];
      if (volume < 0 || lot <= 0 || volume * lot > Number.MAX_SAFE_INTEGER)
        throw new NotSegmentable("volume * lot is not exact");
    }
    return {
      firstTime: int64At(times, 0),
      lastTime: int64At(times, rows - 1),
      firstDay: days[0] as number,
      lastDay: days[rows - 1] as number,
    };
  }
}

/** The columns of a chunk of a query with the columns of {@link BLOCK_SHAPE}; valid until the next chunk. */
export function chunkColumns(rows: ResultRows): ChunkColumn[] {
  return Object.values(BLOCK_SHAPE).map((type, index) => {
    const { buffer, byteOffset, byteLength } = rows.values(index, type);
    return { bytes: new Uint8Array(buffer, byteOffset, byteLength), validity: rows.validity(index) };
  });
}

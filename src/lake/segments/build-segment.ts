import { type FileHandle, open } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { type FixedType, type ResultRows, visitRows } from "../../arrow/scan/result-columns.js";
import { copyBits, countZeros, int64At } from "../../core/bits.js";
import { epochDay } from "../../core/time.js";
import { ident, literalList } from "../../db/quote.js";
import { interruptOn, type Session } from "../../db/session/session.js";
import { isSymbol, regionOf } from "../../market/symbol.js";
import { BARS_1M } from "../../schema/bars.js";
import { partitionDates } from "../files/prune.js";
import { verifyContent } from "../files/verify-content.js";
import type { Lake } from "../lake.js";
import { writeAll } from "../local/local-files.js";
import type { DataFile, Snapshot } from "../log/snapshot.js";
import { BLOCK_COLUMNS, type BlockColumn, type ColumnValues, encodeBlock, mostBytes } from "./block.js";
import { encodeIndex, type SegmentIndex } from "./segment-file.js";

/** The columns that a query selects for a {@link BlockWriter}, and how their values are read. */
const BLOCK_SHAPE: Readonly<Record<string, FixedType>> = Object.fromEntries(
  BLOCK_COLUMNS.map(({ name, type, width }) => [
    name,
    type === "double" ? "double" : width === 8 ? "int64" : "int32",
  ]),
);

/** Times and days of the first and last bar of a block. */
interface BlockEnds {
  readonly firstTime: number;
  readonly lastTime: number;
  readonly firstDay: number;
  readonly lastDay: number;
}

interface WrittenBlock extends BlockEnds {
  readonly bytes: Uint8Array;
  readonly checksum: number;
}

/** A column of a chunk: its values in DuckDB's memory, as bytes. */
interface ChunkColumn {
  readonly bytes: Uint8Array;
  readonly validity: Uint8Array | undefined;
}

/** The error for a data file from which no segment can be made. Its bars are read from the data file. */
class NotSegmentable extends Error {
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
 * double.
 */
class BlockWriter {
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

  get rows(): number {
    return this.#rows;
  }

  /** @param chunk the columns of {@link BLOCK_SHAPE}. @param from the first of the rows. */
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
function chunkColumns(rows: ResultRows): ChunkColumn[] {
  return Object.values(BLOCK_SHAPE).map((type, index) => {
    const { buffer, byteOffset, byteLength } = rows.values(index, type);
    return { bytes: new Uint8Array(buffer, byteOffset, byteLength), validity: rows.validity(index) };
  });
}

/** Bytes of blocks that are written together. */
const PIECE_BYTES = 4 * 2 ** 20;

/** The identity of a data file in the index of its segment: the path of the file in the lake. */
export function identityOf({ table }: Snapshot, { path }: DataFile): string {
  return `${table.name}/${path}`;
}

interface BlockRows {
  readonly symbol: string;
  readonly rows: number;
}

/**
 * Writes the segment of a data file, durably. The file is verified first. Memory contains the bars of one block at a
 * time, and what DuckDB reads.
 *
 * @param target the path of a new file on this machine; after an error its content is not a segment.
 * @param signal stops the work; the signal's reason is thrown.
 * @throws {NotSegmentable} where a reader of the segment could not return the same rows as the view; {@link LakeError}
 *   where the file is damaged.
 */
export async function buildSegment(
  session: Session,
  lake: Lake,
  snapshot: Snapshot,
  file: DataFile,
  target: string,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  using _ = interruptOn(session, signal);
  // The file is verified even if this process did so before: it may be damaged since, and a segment would preserve the
  // damage.
  await verifyContent(lake, snapshot, [file], signal);
  const url = lake.urlOf(snapshot, file);
  const blocks = await blocksOf(session, url, snapshot, file);
  const output = await open(target, "wx", 0o600);
  try {
    await writeSegment(session, output, { url, snapshot, file, blocks, signal });
    await output.sync();
  } finally {
    await output.close();
  }
}

/**
 * The blocks of a file, in its order: one for each symbol. Minutes of the file's last day are in a block of their own,
 * because those of all symbols are read at the same time more often than a symbol's whole month is.
 *
 * @throws {NotSegmentable} where the rows of a block are not together.
 */
async function blocksOf(
  session: Session,
  url: string,
  { table }: Snapshot,
  { partitionValues }: DataFile,
): Promise<BlockRows[]> {
  const isOfLastDay =
    table === BARS_1M ? `trade_date = (SELECT max(trade_date) FROM ${relationOf(url)})` : "false";
  const found = await session.json<BlockRows & { isOfLastDay: boolean; first: number; last: number }>(
    `SELECT symbol, ${isOfLastDay} AS "isOfLastDay", count(*)::DOUBLE AS "rows",
       min(file_row_number)::DOUBLE AS first, max(file_row_number)::DOUBLE AS last
     FROM ${relationOf(url, "file_row_number = true")} GROUP BY ALL ORDER BY first`,
  );
  for (const [at, block] of found.entries()) {
    const { symbol, rows, first, last } = block;
    if (symbol === null || !isSymbol(symbol) || regionOf(symbol) !== partitionValues.region)
      throw new NotSegmentable("a symbol of another region");
    const before = found[at - 1];
    const isNext =
      before === undefined ||
      before.symbol < symbol ||
      (before.symbol === symbol && !before.isOfLastDay && block.isOfLastDay);
    if (last - first + 1 !== rows || !isNext)
      throw new NotSegmentable("its rows are not in the order of their symbols and days");
  }
  return found;
}

function relationOf(url: string, ...options: readonly string[]): string {
  return `read_parquet(${[literalList([url]), "hive_partitioning = false", ...options].join(", ")})`;
}

/** The query of the columns of blocks, in the order of the file. */
function blocksSql(url: string): string {
  const columns = BLOCK_COLUMNS.map(({ name, type }) => {
    const column = ident(name);
    if (type === "timestamp") return `epoch_us(${column}) AS ${column}`;
    if (type === "date") return `CAST(${column} - DATE '1970-01-01' AS INTEGER) AS ${column}`;
    return type === "boolean" ? `CAST(${column} AS INTEGER) AS ${column}` : column;
  });
  return `SELECT ${columns.join(", ")} FROM ${relationOf(url)}`;
}

interface SegmentSource {
  readonly url: string;
  readonly snapshot: Snapshot;
  readonly file: DataFile;
  readonly blocks: readonly BlockRows[];
  readonly signal: AbortSignal;
}

async function writeSegment(
  session: Session,
  output: FileHandle,
  { url, snapshot, file, blocks, signal }: SegmentSource,
): Promise<void> {
  const { table } = snapshot;
  const identity = identityOf(snapshot, file);
  const nullable = new Set(
    table.columns.filter((column) => column.nullable === true).map(({ name }) => name),
  );
  const most = blocks.reduce((largest, { rows }) => Math.max(largest, rows), 0);
  const writer = new BlockWriter(most, nullable);
  const index = emptyIndex(identity, blocks);
  const expectWithin = daysWithin(snapshot, file);
  let [entry, written] = [0, 0];
  let pieces: Uint8Array[] = [];
  let pending = 0;
  const flush = async (): Promise<void> => {
    await writeAll(output, pieces);
    [pieces, pending] = [[], 0];
  };
  await visitRows(await session.stream(blocksSql(url)), BLOCK_SHAPE, (rows) => {
    signal.throwIfAborted();
    const chunk = chunkColumns(rows);
    for (let row = 0; row < rows.rows; ) {
      const total = blocks[entry]?.rows ?? 0;
      if (total === 0) throw new NotSegmentable("it has more rows than were counted");
      const count = Math.min(rows.rows - row, total - writer.rows);
      writer.add(chunk, row, count);
      row += count;
      if (writer.rows < total) continue;
      const block = writer.finish();
      expectWithin(block);
      fillEntry(index, entry, written, block);
      entry += 1;
      written += block.bytes.length;
      pieces.push(block.bytes);
      pending += block.bytes.length;
    }
    return pending >= PIECE_BYTES ? flush() : undefined;
  });
  if (entry !== blocks.length) throw new NotSegmentable("it has fewer rows than were counted");
  pieces.push(encodeIndex(index));
  await flush();
}

function daysWithin({ table }: Snapshot, file: DataFile): (block: WrittenBlock) => void {
  const dates = table.span && partitionDates(table.span, file);
  if (dates === undefined) throw new NotSegmentable("its partition has no dates");
  const [first, next] = [epochDay(dates.first), epochDay(dates.next)];
  return ({ firstDay, lastDay }) => {
    if (firstDay < first || lastDay >= next) throw new NotSegmentable("a bar of another partition");
  };
}

function emptyIndex(identity: string, blocks: readonly BlockRows[]): SegmentIndex {
  const { length } = blocks;
  return {
    identity,
    symbols: blocks.map(({ symbol }) => symbol),
    rows: Uint32Array.from(blocks, ({ rows }) => rows),
    offsets: new Float64Array(length),
    lengths: new Uint32Array(length),
    checksums: new Uint32Array(length),
    firstTimes: new Float64Array(length),
    lastTimes: new Float64Array(length),
    firstDays: new Int32Array(length),
    lastDays: new Int32Array(length),
  };
}

function fillEntry(index: SegmentIndex, entry: number, offset: number, block: WrittenBlock): void {
  index.offsets[entry] = offset;
  index.lengths[entry] = block.bytes.length;
  index.checksums[entry] = block.checksum;
  index.firstTimes[entry] = block.firstTime;
  index.lastTimes[entry] = block.lastTime;
  index.firstDays[entry] = block.firstDay;
  index.lastDays[entry] = block.lastDay;
}

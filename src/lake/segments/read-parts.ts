import { setImmediate } from "node:timers/promises";
import type { DataFile } from "../log/snapshot.js";
import type { Bars, BarsDemand, BarsRange, BarsRun } from "./bars.js";
import { BLOCK_COLUMNS, CHOOSE_BY, columnOffsets, firstRowFrom, TargetColumn } from "./block.js";
import type { BlockThread, ReadBlocks } from "./block-thread.js";
import { DamagedSegment, type SegmentFile } from "./segment-file.js";
import type { PlannedFile } from "./segment-plan.js";

/** A block to read. */
export interface Part {
  readonly symbol: string;
  readonly region: string;
  readonly planned: PlannedFile;
  readonly segment: SegmentFile;
  readonly entry: number;
  readonly range: BarsRange;
}

/** To look for a symbol in a segment, and to read a small block, takes as long as to read this number of bytes. */
export const LOOK_BYTES = 2 ** 13;
/** Bytes that are read before the event loop can run other work; reading them takes half a millisecond. */
const TURN_BYTES = 2 ** 20;

/** The least number of bytes that a thread reads: a message to it and back takes some 50 microseconds. */
const THREAD_BYTES = 2 ** 19;

/** The first and last day, or instant, of a block. */
export function endsOf({ segment: { index }, entry }: Part, by: "day" | "time"): readonly [number, number] {
  const [firsts, lasts] =
    by === "day" ? [index.firstDays, index.lastDays] : [index.firstTimes, index.lastTimes];
  return [firsts[entry] as number, lasts[entry] as number];
}

/** About how many rows are in the ranges of a demand: as if the rows of a block were spread evenly over its time. */
function expectedRows(parts: readonly Part[], by: "day" | "time"): number {
  let rows = 0;
  for (const part of parts) {
    const total = part.segment.index.rows[part.entry] as number;
    const [first, last] = endsOf(part, by);
    const { from, to } = part.range;
    const share = (Math.min(last, to) - Math.max(first, from)) / Math.max(1, last - first);
    rows += Math.min(total, Math.ceil(total * share) + 4);
  }
  return rows;
}

/** The error for a damaged block, with the data file that it was made from. */
export class DamagedPart extends Error {
  readonly file: DataFile;

  constructor(file: DataFile, cause: unknown) {
    super("a damaged segment", { cause });
    this.file = file;
  }
}

/**
 * Reads blocks.
 *
 * @param thread reads them where they are many bytes.
 * @throws {DamagedPart} where a block is not what was written, or cannot be read.
 */
export async function readParts(
  parts: readonly Part[],
  demand: BarsDemand,
  thread?: BlockThread,
): Promise<Bars> {
  const expected = expectedRows(parts, demand.by);
  const columns = new Map<string, TargetColumn>();
  for (const [index, { name }] of BLOCK_COLUMNS.entries())
    if (demand.columns.has(name)) columns.set(name, new TargetColumn(index, expected, demand.take));
  const targets = [...columns.values()];
  const runs: BarsRun[] = [];
  let at = 0;
  await visitBlocks(parts, thread, (part, block) => {
    const { segment, entry, symbol, region, planned } = part;
    const total = segment.index.rows[entry] as number;
    const offsets = columnOffsets(block, total);
    if (offsets.at(-1) !== block.length) throw new DamagedPart(planned.file, undefined);
    const { from, end } = rowsWithin(part, block, offsets[CHOOSE_BY[demand.by]] as number, total, demand.by);
    const count = end - from;
    for (const target of targets)
      target.take(block, offsets[target.index] as number, total, { from, count, at });
    runs.push({ symbol, region, partition: planned.partition, rows: count });
    at += count;
  });
  for (const target of targets) target.end(at);
  return { rows: at, runs, columns };
}

/** @param block is valid during the call. */
type VisitBlock = (part: Part, block: Uint8Array) => void;

/** Reads the block of each part, in the order of the parts. After each turn, the event loop can run other work. */
async function visitBlocks(
  parts: readonly Part[],
  thread: BlockThread | undefined,
  visit: VisitBlock,
): Promise<void> {
  const turns = turnsOf(parts);
  const bytes = parts.reduce((sum, { segment, entry }) => sum + (segment.index.lengths[entry] as number), 0);
  if (thread?.hasEnded === false && bytes >= THREAD_BYTES) return visitOfThread(turns, thread, visit);
  for (const [index, turn] of turns.entries()) {
    if (index > 0) await setImmediate();
    for (const part of turn) visit(part, blockOf(part));
  }
}

/** The thread reads the blocks of the next turn while those of a turn are visited. */
async function visitOfThread(
  turns: readonly (readonly Part[])[],
  thread: BlockThread,
  visit: VisitBlock,
): Promise<void> {
  const read = (turn: readonly Part[]): Promise<ReadBlocks> => {
    const blocks = thread.read(turn.map(({ segment, entry }) => segment.placeOf(entry)));
    // Where it fails while an earlier turn is visited, nothing waits for it yet.
    blocks.catch(() => {});
    return blocks;
  };
  let next = turns[0] && read(turns[0]);
  try {
    for (const [index, turn] of turns.entries()) {
      const blocks = (await next) as ReadBlocks;
      const following = turns[index + 1];
      next = following && read(following);
      const failed = turn[blocks.failed];
      if (failed !== undefined)
        throw new DamagedPart(
          failed.planned.file,
          new DamagedSegment(`block ${failed.entry}: ${blocks.reason}`),
        );
      let offset = 0;
      for (const part of turn) {
        const length = part.segment.index.lengths[part.entry] as number;
        visit(part, new Uint8Array(blocks.memory, offset, length));
        offset += length;
      }
      thread.giveBack(blocks);
    }
  } finally {
    // The segments remain open as long as the thread reads them.
    await next?.catch(() => {});
  }
}

/** Parts in groups of at most {@link TURN_BYTES}, or of one part. */
function turnsOf(parts: readonly Part[]): Part[][] {
  const turns: Part[][] = [];
  let bytes = TURN_BYTES;
  for (const part of parts) {
    const own = (part.segment.index.lengths[part.entry] as number) + LOOK_BYTES;
    if (bytes + own > TURN_BYTES) {
      turns.push([]);
      bytes = 0;
    }
    (turns.at(-1) as Part[]).push(part);
    bytes += own;
  }
  return turns;
}

function blockOf({ segment, entry, planned }: Part): Uint8Array {
  try {
    return segment.read(entry);
  } catch (cause) {
    throw cause instanceof DamagedSegment || isSystemError(cause)
      ? new DamagedPart(planned.file, cause)
      : cause;
  }
}

function isSystemError(error: unknown): boolean {
  return typeof (error as NodeJS.ErrnoException).code === "string";
}

/** The rows of a block that are in the demand's range of its symbol. */
function rowsWithin(
  part: Part,
  block: Uint8Array,
  offset: number,
  total: number,
  by: "day" | "time",
): { readonly from: number; readonly end: number } {
  const { range } = part;
  const [first, last] = endsOf(part, by);
  const from = first >= range.from ? 0 : firstRowFrom(block, offset, total, by, range.from);
  const end = last < range.to ? total : firstRowFrom(block, offset, total, by, range.to);
  return { from, end: Math.max(from, end) };
}

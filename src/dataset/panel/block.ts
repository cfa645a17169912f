import type { Region } from "../../market/regions.js";
import { type FactorState, factorsOf } from "../cells/adjust-days.js";
import type { FillKind, Mask } from "../spec.js";

export interface PanelField {
  readonly name: string;
  /** The value of a day without trades where gaps are filled. */
  readonly fill: FillKind;
}

/** The common labels, ascending: the n-th cell of every symbol has the n-th label. */
export interface Labels {
  readonly count: number;
  /** Trading date of each label, as days since 1970-01-01. */
  readonly days: Int32Array;
  /** End of each bar, epoch milliseconds; undefined where labels are dates. */
  readonly times: Float64Array | undefined;
}

/** A range of dates, as days since 1970-01-01: `start` inclusive, `end` exclusive. */
interface MemberRange {
  readonly start: number;
  readonly end: number;
}

/** A symbol of a dataset: it has trades in the window. */
export interface PanelSymbol {
  readonly symbol: string;
  readonly region: Region;
  readonly memberRanges: readonly MemberRange[];
}

export interface PanelShape {
  readonly labels: Labels;
  /** Sorted by symbol. */
  readonly symbols: readonly PanelSymbol[];
  readonly fields: readonly PanelField[];
  readonly masks: readonly Mask[];
}

export interface BlockOptions {
  /** Memory that the cells of a block may take, in bytes. */
  readonly bytes: number;
  /**
   * `even`: all blocks but the last one have the same number of symbols. `stable`: a symbol that is added changes only
   * blocks near it, and nearly no label that is added changes any.
   */
  readonly parts: "even" | "stable";
  /** Memory that the cells of blocks which are read together may take, in bytes. @default that of a block */
  readonly readBytes?: number;
  readonly bits: 32 | 64;
  /** Blocks that are valid at a time: with two, a thread can read the cells of one while the next is computed. */
  readonly valid: 1 | 2;
}

/** Cells of a field. They have 32 bits where the files of a dataset have no more. */
export type FieldCells = Float64Array | Float32Array;

/** Some symbols' cells, symbol by symbol, so that the cells of one symbol are contiguous. */
export interface Block extends Spans, Eligibility {
  readonly index: number;
  /** Whether the next block was read together with this one: then this one is valid as long as that one. */
  readonly hasNext: boolean;
  /** The first label that has cells. */
  readonly since: number;
  /** Index of its first symbol in the dataset. */
  readonly start: number;
  readonly symbols: readonly PanelSymbol[];
  /** Number of labels of each symbol: those from `since` on. */
  readonly width: number;
  /** Cells of each field, `symbols.length * width`; NaN for missing values. */
  readonly fields: readonly FieldCells[];
  /** Cells of each mask, `symbols.length * width`; 0 or 1. */
  readonly masks: readonly Uint8Array[];
  /** 1 where something traded. */
  readonly traded: Uint8Array;
  /** The state of the symbols' factors after the last label; undefined where its source has none. */
  readonly factors: FactorState | undefined;
}

/** How much history each symbol has; all is 0 where a dataset demands none. */
export interface Eligibility {
  /** The first label at which it has the least history that its dataset demands; {@link NEVER} while it has less. */
  readonly eligibleFrom: Int32Array;
  /** Its number of bars that count as history by the last label, at most the number that its dataset demands. */
  readonly bars: Int32Array;
}

/** A label that no dataset has. */
export const NEVER = 0x7fffffff;

/** First and last label of each symbol with trades; -1 where it has none. */
export interface Spans {
  readonly first: Int32Array;
  readonly last: Int32Array;
}

/** Some symbols of a block, as a view of its memory. @param start index of the first one in the block. */
export function partOf(block: Block, start: number, symbols: number): Block {
  const { width } = block;
  const end = start + symbols;
  const cut = <T extends FieldCells | Uint8Array>(cells: T): T =>
    cells.subarray(start * width, end * width) as T;
  return {
    ...block,
    start: block.start + start,
    symbols: block.symbols.slice(start, end),
    fields: block.fields.map(cut),
    masks: block.masks.map(cut),
    traded: cut(block.traded),
    first: block.first.subarray(start, end),
    last: block.last.subarray(start, end),
    eligibleFrom: block.eligibleFrom.subarray(start, end),
    bars: block.bars.subarray(start, end),
    factors: block.factors && factorsOf(block.factors, start, end),
  };
}

/** Number of rows of symbols: one for each label from the first trade to the last one, none where nothing trades. */
export function rowsOf({ first, last }: Spans): number {
  let rows = 0;
  for (let s = 0; s < first.length; s++)
    if ((first[s] as number) >= 0) rows += (last[s] as number) - (first[s] as number) + 1;
  return rows;
}

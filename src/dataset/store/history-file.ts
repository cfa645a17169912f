import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ExRule } from "../../market/ex-rule.js";
import type { SymbolHistory } from "../cells/cells.js";

/** Name of the file with the history of a dataset's symbols, which an append continues. */
export const HISTORY = "append-state.bin";

/** The first number of the file, `BARL`, and the version of its layout. A file of another layout is not used. */
const MAGIC = 0x4c524142;
const LAYOUT = 1;
/** Numbers of 32 bits at the beginning: the two above, the number of symbols, and that of changes of factors. */
const HEAD = 4;

/**
 * The arrays of the file, in its memory and its order: little-endian, each fact a column over the manifest's symbols, or over the changes
 * of factors by symbol and date. Dates are days since 1970-01-01, labels count from 0; -1 is no label with trades, 2^31 - 1 none with the
 * history of `minHistory`. Without an adjustment there are no closes, dates and changes.
 */
interface Parts {
  readonly bytes: ArrayBuffer;
  readonly head: Int32Array;
  readonly lastClose: Float64Array;
  readonly factor: Float64Array;
  readonly changed: Float64Array;
  readonly first: Int32Array;
  readonly last: Int32Array;
  readonly eligibleFrom: Int32Array;
  readonly bars: Int32Array;
  readonly lastDay: Int32Array;
  /** The number of changes up to those of each symbol, inclusive. */
  readonly ends: Int32Array;
  readonly day: Int32Array;
  readonly dayBefore: Int32Array;
}

function partsOf(symbols: number, changes: number): Parts {
  const bytes = new ArrayBuffer((HEAD + 10 * symbols + 4 * changes) * 4);
  let at = HEAD * 4;
  const floats = (length: number): Float64Array => {
    at += length * 8;
    return new Float64Array(bytes, at - length * 8, length);
  };
  const ints = (length: number): Int32Array => {
    at += length * 4;
    return new Int32Array(bytes, at - length * 4, length);
  };
  return {
    bytes,
    head: new Int32Array(bytes, 0, HEAD),
    lastClose: floats(symbols),
    factor: floats(symbols),
    changed: floats(changes),
    first: ints(symbols),
    last: ints(symbols),
    eligibleFrom: ints(symbols),
    bars: ints(symbols),
    lastDay: ints(symbols),
    ends: ints(symbols),
    day: ints(changes),
    dayBefore: ints(changes),
  };
}

/** The content of the file. The same history has the same bytes. */
export function historyBytes(history: SymbolHistory): Uint8Array {
  const { changes, lastClose, factor, lastDay } = history.factors;
  const [symbols, count] = [history.first.length, changes.symbol.length];
  const parts = partsOf(symbols, count);
  parts.head.set([MAGIC, LAYOUT, symbols, count]);
  // All values that are no number have the same bits.
  parts.lastClose.set(lastClose.map((close) => (Number.isNaN(close) ? Number.NaN : close)));
  parts.factor.set(factor);
  for (const name of ["first", "last", "eligibleFrom", "bars"] as const) parts[name].set(history[name]);
  parts.lastDay.set(lastDay);
  const { ends } = parts;
  for (const s of changes.symbol) ends[s] = (ends[s] as number) + 1;
  for (let s = 1; s < symbols; s++) ends[s] = (ends[s] as number) + (ends[s - 1] as number);
  // Sorted by symbol; the changes of one symbol are in the order of their dates already.
  const next = new Int32Array(symbols);
  if (symbols > 1) next.set(ends.subarray(0, symbols - 1), 1);
  for (let at = 0; at < count; at++) {
    const s = changes.symbol[at] as number;
    const place = next[s] as number;
    next[s] = place + 1;
    parts.changed[place] = changes.factor[at] as number;
    parts.day[place] = changes.day[at] as number;
    parts.dayBefore[place] = changes.dayBefore[at] as number;
  }
  return new Uint8Array(parts.bytes);
}

/**
 * Reads the file of a dataset; undefined where it is missing, not what was written, or of another layout.
 * @param sha256 its digest in the dataset's list. @param rules of the dataset's symbols, in its order.
 */
export async function readHistory(
  folder: string,
  sha256: string | undefined,
  rules: readonly ExRule[],
): Promise<SymbolHistory | undefined> {
  if (sha256 === undefined) return undefined;
  const file = await readFile(join(folder, HISTORY)).catch(() => undefined);
  if (file === undefined || createHash("sha256").update(file).digest("hex") !== sha256) return undefined;
  if (file.length < HEAD * 4) return undefined;
  const [magic, layout, symbols, count] = [0, 4, 8, 12].map((at) => file.readInt32LE(at)) as [
    number,
    number,
    number,
    number,
  ];
  if (magic !== MAGIC || layout !== LAYOUT || symbols !== rules.length) return undefined;
  if (count < 0 || file.length !== (HEAD + 10 * symbols + 4 * count) * 4) return undefined;
  const parts = partsOf(symbols, count);
  new Uint8Array(parts.bytes).set(file);
  const { first, last, eligibleFrom, bars, lastDay, lastClose, factor, ends } = parts;
  const symbol: number[] = [];
  for (let s = 0; s < symbols; s++) while (symbol.length < Math.min(count, ends[s] as number)) symbol.push(s);
  if (symbol.length !== count) return undefined;
  const changes = {
    symbol,
    day: [...parts.day],
    dayBefore: [...parts.dayBefore],
    factor: [...parts.changed],
  };
  return {
    first,
    last,
    eligibleFrom,
    bars,
    factors: { rules, lastDay, lastClose, factor, changes },
  };
}

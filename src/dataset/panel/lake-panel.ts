import { crc32 } from "node:zlib";
import { lowerBound } from "../../core/lower-bound.js";
import { readExRules } from "../../db/market/read-ex-rules.js";
import { interruptOn, type Session } from "../../db/session/session.js";
import type { ExRuleOf } from "../../market/ex-rule.js";
import {
  type CellSource,
  cellBuffers,
  newBytes,
  type SymbolHistory,
  type SymbolRange,
} from "../cells/cells.js";
import { dailyCells, dailyColumns } from "../cells/daily-cells.js";
import { askStatus, fillGaps, isStatusMask } from "../cells/mask-cells.js";
import { sqlCells } from "../cells/sql-cells.js";
import { type ResolvedFields, resolveFields } from "../expression/resolve-fields.js";
import type { DatasetSpec } from "../spec.js";
import { type Axes, createAxes } from "./axes.js";
import {
  type Block,
  type BlockOptions,
  type Eligibility,
  type Labels,
  NEVER,
  type PanelShape,
  type PanelSymbol,
  partOf,
  type Spans,
} from "./block.js";

/**
 * Counts the bars of symbols, of which all cells are known. @param before number of bars before the first label. @param
 * traded of all labels of each symbol.
 */
function eligibilityOf(minHistory: number, before: Float64Array, traded: Uint8Array): Eligibility {
  const eligibility = { eligibleFrom: new Int32Array(before.length), bars: new Int32Array(before.length) };
  const { eligibleFrom, bars } = eligibility;
  const width = traded.length / before.length;
  for (let s = 0; s < before.length; s++) {
    let count = Math.min(minHistory, before[s] as number);
    let label = -1;
    while (count < minHistory && ++label < width) count += traded[s * width + label] as number;
    eligibleFrom[s] = count < minHistory ? NEVER : Math.max(0, label);
    bars[s] = count;
  }
  return eligibility;
}

/** Marks the cells, from a label on, on whose dates a symbol is in the universe and has traded for enough bars. */
function markMembers(
  { symbols, width, eligibleFrom, since }: Pick<Block, "symbols" | "width" | "eligibleFrom" | "since">,
  { days }: Labels,
  mask: Uint8Array,
): void {
  for (const [s, { memberRanges }] of symbols.entries()) {
    const base = s * width - since;
    for (const { start, end } of memberRanges) {
      const from = lowerBound(0, days.length, (label) => (days[label] as number) >= start);
      const first = Math.max(from, since, eligibleFrom[s] as number);
      for (let label = first; label < since + width && (days[label] as number) < end; label++)
        mask[base + label] = 1;
    }
  }
}

/** Divides symbols into blocks. @param most number of symbols whose cells fit into memory; a block has at least one. */
export function divideSymbols(
  symbols: readonly PanelSymbol[],
  most: number,
  parts: BlockOptions["parts"],
): SymbolRange[] {
  const starts = parts === "even" ? evenStarts(symbols.length, most) : stableStarts(symbols, most);
  return starts.map((start, index) => ({
    index,
    start,
    symbols: symbols.slice(start, starts[index + 1]),
    since: 0,
  }));
}

function evenStarts(symbols: number, most: number): number[] {
  const step = Math.max(1, most);
  return Array.from({ length: Math.ceil(symbols / step) }, (_, index) => index * step);
}

/**
 * A block begins with a symbol whose checksum says so, on average every `full / 2` symbols, or when the block before it
 * is full. `full` is a power of two, and so the same for twice as many labels.
 */
function stableStarts(symbols: readonly PanelSymbol[], most: number): number[] {
  const full = 2 ** Math.max(0, Math.floor(Math.log2(Math.max(1, most))));
  const starts: number[] = [];
  let last = Number.NEGATIVE_INFINITY;
  for (const [at, { symbol }] of symbols.entries()) {
    const isBeginning = crc32(symbol) % Math.max(1, full / 2) === 0;
    if (at > 0 && !isBeginning && at - last < full) continue;
    starts.push(at);
    last = at;
  }
  return starts;
}

/** Rows that DuckDB computes ahead of their reader, in megabytes: enough for its threads not to wait. */
const STREAM_MB = 32;

async function setReadAhead(session: Session): Promise<void> {
  await session.run(`SET streaming_buffer_size = '${STREAM_MB}MB'`);
}

/** Two connections to one database, for results that are read in turn. */
export class TwoConnections implements Disposable {
  readonly #sessions: readonly [Session, Session];
  readonly #interrupts: readonly Disposable[];

  private constructor(sessions: readonly [Session, Session], signal: AbortSignal | undefined) {
    this.#sessions = sessions;
    this.#interrupts = sessions.map((session) => interruptOn(session, signal));
  }

  /** @param session stays open, and is not used. @param signal interrupts their statements. */
  static async open(session: Session, signal: AbortSignal | undefined): Promise<TwoConnections> {
    const opened: Session[] = [];
    const open = async (): Promise<Session> => {
      const own = await session.sibling();
      opened.push(own);
      await setReadAhead(own);
      return own;
    };
    try {
      return new TwoConnections([await open(), await open()], signal);
    } catch (error) {
      for (const own of opened) own.close();
      throw error;
    }
  }

  of(n: number): Session {
    return this.#sessions[(n % 2) as 0 | 1];
  }

  [Symbol.dispose](): void {
    for (const interrupt of this.#interrupts) interrupt[Symbol.dispose]();
    for (const session of this.#sessions) session.close();
  }
}

/**
 * Yields the result of each item, in order. @param overlapsReading whether the next item is queried while the result of
 * the previous one is read, for which each needs a connection; else while that result is used.
 */
export async function* oneAhead<T, R>(
  items: Iterable<T>,
  { overlapsReading }: { readonly overlapsReading: boolean },
  ask: (item: T, index: number) => Promise<() => Promise<R>>,
): AsyncGenerator<R, void, undefined> {
  const next = items[Symbol.iterator]();
  let index = 0;
  const askNext = (): Promise<() => Promise<R>> | undefined => {
    const { done, value } = next.next();
    if (done === true) return undefined;
    const asked = ask(value, index++);
    asked.catch(() => {});
    return asked;
  };
  let asked = askNext();
  try {
    while (asked !== undefined) {
      const make = await asked;
      if (overlapsReading) asked = askNext();
      const made = await make();
      if (!overlapsReading) asked = askNext();
      yield made;
    }
  } finally {
    await asked?.catch(() => {});
  }
}

/** Blocks of most formats. Their sizes depend on nothing of the machine, so that files are the same everywhere. */
export const BLOCKS: BlockOptions = { bytes: 48 * 2 ** 20, parts: "even", bits: 64, valid: 1 };

export interface LakePanel extends PanelShape {
  readonly spec: DatasetSpec;
  readonly axes: Axes;
  readonly resolved: ResolvedFields;
  readonly ranges: readonly SymbolRange[];
  /** The ranges of a dataset of these symbols, which would have so many labels. */
  rangesOf(symbols: readonly PanelSymbol[], labels: number): readonly SymbolRange[];
  /**
   * The rule of a symbol's ex-events, where the cells before the first label of a range are not read, and the history
   * of symbols can be known; undefined where everything is read.
   */
  readonly ruleOf: ExRuleOf | undefined;
  /**
   * Number of bars of each symbol before the first label that count as history: all with trades; 0 where none are
   * demanded.
   */
  barsBefore(start: number, symbols: number): Promise<Float64Array>;
  /**
   * The cells of ranges, @default all, block by block. A block is valid until the next one is requested, or the one
   * after it where two are valid: blocks share memory. Rows may be computed ahead by other connections than the
   * session, whose statements the signal interrupts, and which do not verify what they read.
   */
  blocks(ranges?: readonly SymbolRange[], signal?: AbortSignal): AsyncGenerator<Block, void, undefined>;
  sample(symbols: number): Promise<Block>;
}

/**
 * The axes and columns of a dataset; its cells are read on demand. @param session has the lake's views; it gets
 * temporary tables, and must not be used for anything else. @throws {UsageError} for a spec that the lake cannot
 * fulfil, and {@link QueryError} for an expression that fails.
 */
export async function openPanel(
  session: Session,
  spec: DatasetSpec,
  options: BlockOptions = BLOCKS,
): Promise<LakePanel> {
  await setReadAhead(session);
  const resolved = await resolveFields(session, spec);
  const axes = await createAxes(session, spec);
  const shape: PanelShape = {
    labels: axes.labels,
    symbols: axes.symbols,
    fields: resolved.fields,
    masks: spec.masks,
  };
  const hasCloses = spec.fill !== "none" && resolved.fields.some(({ fill }) => fill === "close");
  const cellBytes = (options.bits / 8) * (resolved.fields.length + Number(hasCloses)) + spec.masks.length + 1;
  const rangesOf: LakePanel["rangesOf"] = (symbols, labels) =>
    divideSymbols(symbols, Math.floor(options.bytes / (labels * cellBytes)), options.parts);
  const ranges = rangesOf(axes.symbols, axes.labels.count);
  const fitting = Math.floor((options.readBytes ?? options.bytes) / (axes.labels.count * cellBytes));
  const most = Math.max(
    Math.min(fitting, axes.symbols.length),
    ...ranges.map(({ symbols }) => symbols.length),
  );
  const buffers = cellBuffers(shape, most, { hasCloses, options });
  const daily = dailyColumns(spec, resolved.fields);
  const ruleOf = daily && (await readExRules(session));
  const source =
    daily === undefined || ruleOf === undefined
      ? await sqlCells(session, spec, axes, resolved, { hasCloses, buffers })
      : dailyCells(axes, daily, {
          adjustment: spec.adjustment,
          buffers,
          isSparse: !isAll(spec),
          ruleOf,
        });
  const parts: PanelParts = { shape, axes, source, options };
  return {
    ...shape,
    spec,
    axes,
    resolved,
    ranges,
    rangesOf,
    ruleOf,
    barsBefore: (start, count) => barsBefore(session, spec, axes, start, count),
    async sample(symbols) {
      const start = Math.max(0, (axes.symbols.length - symbols) >> 1);
      const few = axes.symbols.slice(start, start + Math.min(symbols, most));
      const range = { index: 0, start, symbols: few, since: 0 };
      return (await askBlock(session, session, spec, parts, range))();
    },
    async *blocks(some = ranges, signal) {
      const groups =
        daily === undefined ? some.map((range) => [range]) : togetherIn(some, most, axes.labels.count);
      const isAhead = daily !== undefined && groups.length > 1;
      using connections = isAhead ? await TwoConnections.open(session, signal) : undefined;
      const read = oneAhead(groups, { overlapsReading: isAhead }, (group, n) =>
        askBlock(session, connections?.of(n) ?? session, spec, parts, mergedOf(group, n)),
      );
      let n = 0;
      for await (const block of read) {
        const group = groups[n++] as readonly SymbolRange[];
        for (const range of group) yield blockOf(block, range, range !== group.at(-1));
      }
    },
  };
}

/**
 * Groups ranges whose cells are read by one query, as they fit into memory: each query reads every row group of the
 * lake's files that has one of its symbols. @param most number of symbols of which the cells of all labels fit.
 */
function togetherIn(
  ranges: readonly SymbolRange[],
  most: number,
  labels: number,
): (readonly SymbolRange[])[] {
  const fits = (symbols: number, { since }: SymbolRange): boolean =>
    symbols * (labels - since) <= most * labels;
  const groups: SymbolRange[][] = [];
  let group: SymbolRange[] = [];
  let size = 0;
  for (const range of ranges) {
    const last = group.at(-1);
    const follows = last !== undefined && last.start + last.symbols.length === range.start;
    if (!follows || last.since !== range.since || !fits(size + range.symbols.length, range)) {
      group = [];
      groups.push(group);
      size = 0;
    }
    group.push(range);
    size += range.symbols.length;
  }
  return groups;
}

function blockOf(read: Block, { index, start, symbols }: SymbolRange, hasNext: boolean): Block {
  return { ...partOf(read, start - read.start, symbols.length), index, hasNext };
}

/** One range with the symbols of several consecutive ones. */
function mergedOf(group: readonly SymbolRange[], index: number): SymbolRange {
  const [first] = group as readonly [SymbolRange];
  return {
    index,
    start: first.start,
    since: first.since,
    symbols: group.flatMap(({ symbols }) => symbols),
    ...(first.known !== undefined && { known: first.known }),
  };
}

interface PanelParts {
  readonly shape: PanelShape;
  readonly axes: Axes;
  readonly source: CellSource;
  readonly options: BlockOptions;
}

/** @param connection by which the rows are read: the session, or another one to the same database. */
async function askBlock(
  session: Session,
  connection: Session,
  spec: DatasetSpec,
  { shape, axes, source, options }: PanelParts,
  range: SymbolRange,
): Promise<() => Promise<Block>> {
  const markStatus = spec.masks.some(isStatusMask) ? await askStatus(session, spec, axes, range) : undefined;
  const { start, symbols, known } = range;
  const before = known ? undefined : await barsBefore(session, spec, axes, start, symbols.length);
  // The last statement: another one of its connection would end its result.
  const makeCells = await source.ask(range, connection);
  return async () => {
    const { fields, traded, closes, factors } = await makeCells();
    const least = leastHistory(spec);
    const facts =
      before === undefined
        ? factsOf(known as SymbolHistory, start, symbols.length)
        : { ...spansOf(traded, symbols.length, shape.labels.count), ...eligibilityOf(least, before, traded) };
    const block: Block = {
      index: range.index,
      hasNext: false,
      since: range.since,
      start: range.start,
      symbols: range.symbols,
      width: shape.labels.count - range.since,
      fields,
      masks: shape.masks.map(() => new Uint8Array(newBytes(traded.length, options))),
      traded,
      factors,
      ...facts,
    };
    if (spec.fill !== "none") fillGaps(block, shape.fields, closes, spec.fill.limit);
    for (const [i, mask] of spec.masks.entries()) {
      const cells = block.masks[i] as Uint8Array;
      if (isStatusMask(mask)) markStatus?.(mask, cells, traded);
      else markMembers(block, shape.labels, cells);
    }
    return block;
  };
}

/** The number of bars that a symbol must have before its cells are marked; 0 where none are marked. */
export function leastHistory({ masks, minHistory }: DatasetSpec): number {
  return masks.includes("in_universe") ? minHistory : 0;
}

/** See {@link LakePanel.barsBefore}. */
async function barsBefore(
  session: Session,
  spec: DatasetSpec,
  { tables }: Axes,
  start: number,
  symbols: number,
): Promise<Float64Array> {
  const counts = new Float64Array(symbols);
  if (leastHistory(spec) === 0) return counts;
  const rows = await session.json<{ s: number; bars: number }>(
    `SELECT s, CAST(count(*) AS DOUBLE) AS bars FROM bars('${spec.period}')
     JOIN ${tables.symbols.name} USING (symbol)
     WHERE s >= ${start} AND s < ${start + symbols} AND shares > 0
       AND trade_date < (SELECT min(day) FROM ${tables.days.name}) GROUP BY s`,
  );
  for (const { s, bars } of rows) counts[s - start] = bars;
  return counts;
}

function factsOf(known: SymbolHistory, start: number, symbols: number): Spans & Eligibility {
  const cut = (values: Int32Array): Int32Array => values.subarray(start, start + symbols);
  const { first, last, eligibleFrom, bars } = known;
  return { first: cut(first), last: cut(last), eligibleFrom: cut(eligibleFrom), bars: cut(bars) };
}

/** First and last label of each symbol with trades. */
function spansOf(traded: Uint8Array, symbols: number, width: number): Spans {
  const first = new Int32Array(symbols);
  const last = new Int32Array(symbols);
  for (let s = 0; s < symbols; s++) {
    const row = traded.subarray(s * width, (s + 1) * width);
    first[s] = row.indexOf(1);
    last[s] = row.lastIndexOf(1);
  }
  return { first, last };
}

function isAll({ universe }: DatasetSpec): boolean {
  return typeof universe === "object" && "region" in universe && universe.types === undefined;
}

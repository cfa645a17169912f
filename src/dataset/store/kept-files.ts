import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { visitRows } from "../../arrow/scan/result-columns.js";
import { isPresent } from "../../core/bits.js";
import { literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import type { ExRuleOf } from "../../market/ex-rule.js";
import { addChanges, firstFactors } from "../cells/adjust-days.js";
import { emptyHistory, type SymbolHistory, type SymbolRange, symbolIndexes } from "../cells/cells.js";
import { DAY, KEY_SHAPE, KEYS_SQL, SYMBOL, takeFactors, VECTOR_ROWS } from "../cells/factor-history.js";
import { partFile, partitionsOf } from "../formats/long.js";
import { NEVER, type PanelShape, type PanelSymbol, rowsOf, type Spans } from "../panel/block.js";
import { type LakePanel, leastHistory } from "../panel/lake-panel.js";
import type { DatasetSpec } from "../spec.js";
import { DIGESTS, digestIn, digestsIn, type EarlierFiles, type NewFile } from "./dataset-files.js";
import { HISTORY, readHistory } from "./history-file.js";
import type { Manifest } from "./manifest.js";

interface EarlierDataset {
  /** Number of its labels, the first ones of the new dataset. */
  readonly labels: number;
  readonly symbols: readonly string[];
  /** Of these symbols; undefined where it is not known. */
  readonly history: SymbolHistory | undefined;
}

interface GrownHistory {
  readonly history: SymbolHistory;
  /** The last label with trades among those of the earlier dataset; -1 where there is none. */
  readonly lastBefore: Int32Array;
}

/** Number of symbols that a query names; for more it reads the bars of all between the first and the last. */
const NAMED = 200;

/**
 * The history of a dataset's symbols, from that of an earlier one, of which the lake has changed no day, and the bars
 * of later days. Of symbols whose history is not known, all bars are read. Undefined where a symbol has two bars on one
 * date.
 */
async function growHistory(
  session: Session,
  panel: LakePanel,
  { ruleOf, earlier }: { readonly ruleOf: ExRuleOf; readonly earlier: EarlierDataset },
): Promise<GrownHistory | undefined> {
  const { labels, symbols, spec } = panel;
  const known = new Map(earlier.history && earlier.symbols.map((symbol, index) => [symbol, index]));
  const added = symbols.filter(({ symbol }) => !known.has(symbol));
  const last = labels.days[earlier.labels - 1] as number;
  const end = labels.days[labels.count - 1] as number;
  for (const isSorted of [false, true]) {
    const history = emptyHistory(symbols.map(ruleOf));
    if (earlier.history) copyKnown(history, symbols, known, earlier.history);
    await countBefore(panel, history, added);
    const before = { symbols: added, end: last, isSorted };
    if (added.length > 0 && !(await read(session, panel, history, before))) continue;
    const lastBefore = history.last.slice();
    if (!(await read(session, panel, history, { symbols, after: last, end, isSorted }))) continue;
    // Where nothing is adjusted, the closes were read for the order of the days alone.
    const factors = spec.adjustment === "none" ? firstFactors(symbols.map(ruleOf)) : history.factors;
    return { history: { ...history, factors }, lastBefore };
  }
  return undefined;
}

/** Copies what is known of symbols to their places among all. */
function copyKnown(
  history: SymbolHistory,
  symbols: readonly PanelSymbol[],
  known: ReadonlyMap<string, number>,
  from: SymbolHistory,
): void {
  const { factors } = history;
  const places = new Int32Array(from.first.length).fill(-1);
  for (const [s, { symbol }] of symbols.entries()) {
    const was = known.get(symbol);
    if (was === undefined) continue;
    places[was] = s;
    for (const name of ["first", "last", "eligibleFrom", "bars"] as const)
      history[name][s] = from[name][was] as number;
    factors.lastDay[s] = from.factors.lastDay[was] as number;
    factors.lastClose[s] = from.factors.lastClose[was] as number;
    factors.factor[s] = from.factors.factor[was] as number;
  }
  addChanges(factors.changes, from.factors.changes, 0, from.first.length);
  for (let at = 0; at < factors.changes.symbol.length; at++)
    factors.changes.symbol[at] = places[factors.changes.symbol[at] as number] as number;
}

/** Counts the bars before the first label of symbols of which nothing is known. */
async function countBefore(
  panel: LakePanel,
  { eligibleFrom, bars }: SymbolHistory,
  added: readonly PanelSymbol[],
): Promise<void> {
  const least = leastHistory(panel.spec);
  if (least === 0 || added.length === 0) return;
  const isAdded = new Set(added);
  const before = await panel.barsBefore(0, panel.symbols.length);
  for (const [s, symbol] of panel.symbols.entries()) {
    if (!isAdded.has(symbol)) continue;
    bars[s] = Math.min(least, before[s] as number);
    eligibleFrom[s] = bars[s] === least ? 0 : NEVER;
  }
}

/** Some rows to read: of these symbols, after one day up to another one, inclusive. */
interface Reading {
  readonly symbols: readonly PanelSymbol[];
  readonly after?: number;
  readonly end: number;
  /** Whether they are sorted, because the order of the files is not sufficient. */
  readonly isSorted: boolean;
}

/** Adds rows to a history. @returns false where a symbol's days do not ascend: the history is then invalid. */
async function read(
  session: Session,
  { labels, symbols, spec }: LakePanel,
  { first, last, eligibleFrom, bars, factors: state }: SymbolHistory,
  reading: Reading,
): Promise<boolean> {
  const least = leastHistory(spec);
  const labelOfDay = new Map(Array.from(labels.days, (day, label) => [day, label]));
  const indexesOf = symbolIndexes(reading);
  const all = new Map(symbols.map(({ symbol }, s) => [symbol, s]));
  /** The place of each symbol that is read among all. */
  const places = Int32Array.from(reading.symbols, ({ symbol }) => all.get(symbol) as number);
  const [indexes, factors] = [new Int32Array(VECTOR_ROWS), new Float64Array(VECTOR_ROWS)];
  let isInOrder = true;
  const result = await session.stream(rowsSql(reading));
  await visitRows(result, { ...KEY_SHAPE, traded: "boolean" }, (rows) => {
    if (!isInOrder) return;
    indexesOf(rows.texts(SYMBOL), indexes);
    for (let row = 0; row < rows.rows; row++) {
      const index = indexes[row] as number;
      if (index >= 0) indexes[row] = places[index] as number;
    }
    isInOrder = takeFactors(rows, indexes, state, factors);
    if (!isInOrder) return;
    const [day, traded, isKnown] = [
      rows.values(DAY, "date"),
      rows.values(TRADED, "boolean"),
      rows.validity(TRADED),
    ];
    for (let row = 0; row < rows.rows; row++) {
      const s = indexes[row] as number;
      if (s < 0 || traded[row] !== 1 || !isPresent(isKnown, row)) continue;
      const label = labelOfDay.get(day[row] as number);
      if (label === undefined) continue;
      if ((first[s] as number) < 0) first[s] = label;
      last[s] = label;
      if ((bars[s] as number) >= least) continue;
      bars[s] = (bars[s] as number) + 1;
      if (bars[s] === least) eligibleFrom[s] = label;
    }
  });
  return isInOrder;
}

const TRADED = 4;

function rowsSql({ symbols, after, end, isSorted }: Reading): string {
  const names = symbols.map(({ symbol }) => symbol);
  const [low, high] = [names[0] ?? "", names.at(-1) ?? ""];
  return `SELECT ${KEYS_SQL}, (is_final AND volume > 0) AS traded FROM raw.bars_1d
    WHERE symbol >= ${literal(low)} AND symbol <= ${literal(high)}
      ${names.length > NAMED ? "" : `AND symbol IN (${names.map(literal).join(", ")})`}
      AND trade_date <= DATE '1970-01-01' + ${end} ${after === undefined ? "" : `AND trade_date > DATE '1970-01-01' + ${after}`}
    ${isSorted ? "ORDER BY symbol, trade_date" : ""}`;
}

export interface Kept {
  /** Files of the earlier dataset that are part of the new one. */
  readonly files: readonly NewFile[];
  /** Files of the earlier dataset that get more cells at their end; undefined where there are none. */
  readonly continued: Continued | undefined;
  /** The blocks that have files to write, each from the first label that these need. */
  readonly ranges: readonly SymbolRange[];
  readonly rows: number;
  readonly history: SymbolHistory;
  /** The first day whose bars are read, as days since 1970-01-01; undefined where those of any day may be. */
  readonly since: number | undefined;
}

interface Continued {
  readonly files: EarlierFiles;
  /** The last label that the earlier dataset has of each symbol; -1 where it does not have the symbol. */
  readonly last: Int32Array;
}

/** Whether an append continues the history of a dataset's symbols: others are built again. */
export function hasHistory({ spec, ruleOf }: Pick<LakePanel, "spec" | "ruleOf">): boolean {
  return ruleOf !== undefined && isContinuedFormat(spec);
}

export function isContinuedFormat(spec: DatasetSpec): boolean {
  return spec.format === "long-parquet" || isContinuedInPlace(spec);
}

/** Whether files get cells at their end where they are: readers of qlib's files do not read beyond its calendar. */
export function isContinuedInPlace({ format }: DatasetSpec): boolean {
  return format === "qlib";
}

/**
 * The files of an earlier dataset of the same spec that a build with more days would write again, byte by byte, and
 * what else is to be written: of `long-parquet` only the files of the last year change, and earlier ones of symbols
 * that are new, or trade again after a pause; qlib's files get more cells at their end. Undefined where this cannot be
 * determined: then everything is written.
 */
export async function keptFiles(
  session: Session,
  panel: LakePanel,
  earlier: Omit<Earlier, "list">,
): Promise<Kept | undefined> {
  const { labels, symbols, ruleOf, spec } = panel;
  const { folder, manifest } = earlier;
  if (ruleOf === undefined || !hasHistory(panel)) return undefined;
  if (manifest.past === undefined || manifest.sources === undefined) return undefined;
  const known = new Map(symbols.map((one) => [one.symbol, one]));
  const were = manifest.symbols.flatMap((symbol) => known.get(symbol) ?? []);
  if (pastDigest({ labels, symbols: were }, manifest.labels) !== manifest.past) return undefined;
  const list = await readList(folder, manifest);
  if (list === undefined) return undefined;
  const before = await readHistory(folder, digestIn(list, HISTORY), were.map(ruleOf));
  // To read all bars takes nearly as long as to write qlib's files of them.
  if (before === undefined && spec.format === "qlib") return undefined;
  const grown = await growHistory(session, panel, {
    ruleOf,
    earlier: { labels: manifest.labels, symbols: manifest.symbols, history: before },
  });
  if (grown === undefined) return undefined;
  const kept =
    spec.format === "qlib"
      ? continuedFiles(panel, grown, { ...earlier, list })
      : keptParts(panel, grown, { ...earlier, list }, were);
  const isKnown = before !== undefined && were.length === symbols.length && isOfSameBars(panel);
  const first = kept.ranges.reduce((least, { since }) => Math.min(least, since), manifest.labels);
  return { ...kept, since: isKnown ? labels.days[first] : undefined };
}

/**
 * Whether a symbol of which the earlier dataset had no trades cannot have some in the files that it was built from:
 * then the digest of the past shows all that these files decide.
 */
function isOfSameBars({ spec: { universe }, axes }: LakePanel): boolean {
  if (typeof universe === "string") return axes.absent.length === 0;
  return Array.isArray(universe) || ("region" in universe && universe.types === undefined);
}

interface Earlier extends EarlierFiles {
  readonly manifest: Manifest;
}

/** Labels before the first one that is written whose cells are needed to fill gaps. */
function lookBackOf({ fill }: DatasetSpec): number {
  return fill === "none" ? 0 : fill.limit;
}

function continuedFiles(
  panel: LakePanel,
  grown: GrownHistory,
  { manifest, ...files }: Earlier,
): Omit<Kept, "since"> {
  const { labels, symbols, spec } = panel;
  const { history, lastBefore } = grown;
  const had = new Set(manifest.symbols);
  const last = lastBefore.map((label, s) => (had.has((symbols[s] as PanelSymbol).symbol) ? label : -1));
  const ranges = panel.ranges.map((range): SymbolRange => {
    const from = firstChange(range, { history, lastBefore: last });
    const since = Math.max(0, Math.min(from, labels.count - 1) - lookBackOf(spec));
    return { ...range, since, known: history };
  });
  return { files: [], continued: { files, last }, ranges, rows: 0, history };
}

function keptParts(
  panel: LakePanel,
  grown: GrownHistory,
  { folder, manifest, list }: Earlier,
  were: readonly PanelSymbol[],
): Omit<Kept, "since"> {
  const { history } = grown;
  const digests = digestsIn(list);
  const partitions = partitionsOf(panel.labels);
  const earlierIndex = new Map(
    panel.rangesOf(were, manifest.labels).map((range) => [namesOf(range), range.index]),
  );
  const files: NewFile[] = [];
  const ranges: SymbolRange[] = [];
  let rows = 0;
  for (const range of panel.ranges) {
    const was = earlierIndex.get(namesOf(range));
    const from = was === undefined ? 0 : firstChange(range, grown);
    for (const { folder: partition, slice } of partitions) {
      if (slice.start + slice.width > from || was === undefined) continue;
      const source = partFile(partition, was);
      const sha256 = digests.get(source);
      // A block without rows of a year has no file of it.
      if (sha256 !== undefined)
        files.push({
          path: partFile(partition, range.index),
          content: { source: join(folder, source), sha256 },
        });
    }
    const changed = partitions.find(({ slice }) => slice.start + slice.width > from);
    if (changed === undefined) rows += rowsOf(spansIn(range, history));
    else
      ranges.push({
        ...range,
        since: Math.max(0, changed.slice.start - lookBackOf(panel.spec)),
        known: history,
      });
  }
  return { files, continued: undefined, ranges, rows, history };
}

/**
 * The digest of what rows depend on besides the lake's bars: the first labels, and the dates up to them on which
 * symbols are in the universe.
 */
export function pastDigest(
  { labels, symbols }: Pick<PanelShape, "labels" | "symbols">,
  count: number,
): string {
  const days = labels.days.subarray(0, count);
  const next = (days[days.length - 1] ?? 0) + 1;
  const members = symbols.map(({ symbol, memberRanges }) => [
    symbol,
    memberRanges.flatMap(({ start, end }) => (start < next ? [[start, Math.min(end, next)]] : [])),
  ]);
  return createHash("sha256")
    .update(JSON.stringify([[...days], members]))
    .digest("hex");
}

/** The text of a dataset's list of digests; undefined where it is damaged. */
async function readList(folder: string, { content }: Manifest): Promise<string | undefined> {
  const text = await readFile(join(folder, DIGESTS), "utf8").catch(() => "");
  if (createHash("sha256").update(text).digest("hex") !== content) return undefined;
  return text;
}

/**
 * The first label from which on the rows of a block change: a symbol that trades after the first labels gets rows from
 * its last one among them on, and one without any from its first trade on.
 */
function firstChange({ start, symbols }: SymbolRange, { history, lastBefore }: GrownHistory): number {
  let from = Number.POSITIVE_INFINITY;
  for (let s = start; s < start + symbols.length; s++) {
    const [first, last, before] = [history.first[s], history.last[s], lastBefore[s]] as [
      number,
      number,
      number,
    ];
    if (last > before) from = Math.min(from, before < 0 ? first : before + 1);
  }
  return from;
}

function spansIn({ start, symbols }: SymbolRange, { first, last }: Spans): Spans {
  const end = start + symbols.length;
  return { first: first.subarray(start, end), last: last.subarray(start, end) };
}

function namesOf({ symbols }: { readonly symbols: readonly PanelSymbol[] }): string {
  return symbols.map(({ symbol }) => symbol).join(" ");
}

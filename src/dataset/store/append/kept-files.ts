import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Session } from "../../../db/session/session.js";
import type { SymbolRange } from "../../cells/cells.js";
import { partFile, partitionsOf } from "../../formats/long.js";
import { type PanelShape, type PanelSymbol, rowsOf, type Spans } from "../../panel/block.js";
import type { LakePanel } from "../../panel/lake-panel.js";
import { type KeptFile, PIECE_BYTES, sha256OfFile } from "../files/dataset-files.js";
import { DIGESTS, digestsIn, type Manifest } from "../files/manifest.js";

/** What an append leaves as it is. */
export interface Kept {
  /** Files of the earlier dataset that are part of the new one. */
  readonly files: readonly KeptFile[];
  /** The blocks that have files to write, each from the first label that these need. */
  readonly ranges: readonly SymbolRange[];
  /** Rows of all other blocks. */
  readonly rows: number;
}

/**
 * Finds the files of an earlier dataset that a build with more days would write again, byte by byte, and what else is
 * to be written: of `long-parquet` only the files of the last year change, and earlier ones of symbols that are new, or
 * that trade again after a pause.
 *
 * @param earlier a dataset of the same spec, of whose days the lake has changed none. @param signal ends the
 *   comparison.
 * @returns undefined where this cannot be determined, or a file is damaged: then everything is written again.
 */
export async function keptFiles(
  session: Session,
  panel: LakePanel,
  earlier: { readonly folder: string; readonly manifest: Manifest },
  signal?: AbortSignal,
): Promise<Kept | undefined> {
  const { spec, labels, symbols } = panel;
  const { folder, manifest } = earlier;
  if (spec.format !== "long-parquet" || !panel.readsSince) return undefined;
  if (manifest.past === undefined || manifest.sources === undefined) return undefined;
  const known = new Map(symbols.map((one) => [one.symbol, one]));
  const were = manifest.symbols.flatMap((symbol) => known.get(symbol) ?? []);
  if (pastDigest({ labels, symbols: were }, manifest.labels) !== manifest.past) return undefined;
  const digests = await readDigests(folder, manifest);
  if (digests === undefined) return undefined;

  const partitions = partitionsOf(labels);
  const lookBack = spec.fill === "none" ? 0 : spec.fill.limit;
  const begins = partitions.map(({ slice }) => Math.max(0, slice.start - lookBack));
  const spans = await readSpans(session, panel, manifest.labels, spec.minHistory === 0 ? [] : begins);
  const earlierIndex = new Map(
    panel.rangesOf(were, manifest.labels).map((range) => [namesOf(range), range.index]),
  );
  const files: KeptFile[] = [];
  const ranges: SymbolRange[] = [];
  let rows = 0;
  for (const range of panel.ranges) {
    const was = earlierIndex.get(namesOf(range));
    const from = was === undefined ? 0 : firstChange(range, spans, manifest.labels);
    for (const { folder: partition, slice } of partitions) {
      if (slice.start + slice.width > from || was === undefined) continue;
      const source = partFile(partition, was);
      const sha256 = digests.get(source);
      // A block without rows of a year has no file of it.
      if (sha256 !== undefined)
        files.push({ path: partFile(partition, range.index), source: join(folder, source), sha256 });
    }
    const changed = partitions.findIndex(({ slice }) => slice.start + slice.width > from);
    if (changed < 0) rows += rowsOf(spansIn(range, spans));
    else
      ranges.push({
        ...range,
        since: begins[changed] as number,
        spans: spansIn(range, spans),
        tradedBefore: tradedIn(range, spans, changed),
      });
  }
  return (await areWhole(files, signal)) ? { files, ranges, rows } : undefined;
}

/**
 * The digest of what a dataset's rows depend on besides the lake's bars: its first labels, and the dates up to them on
 * which its symbols are in the universe.
 */
export function pastDigest(
  { labels, symbols }: Pick<PanelShape, "labels" | "symbols">,
  count: number,
): string {
  const days = labels.days.subarray(0, count);
  const next = (days[days.length - 1] ?? 0) + 1;
  const members = symbols.map(({ symbol, spells }) => [
    symbol,
    spells.flatMap(({ start, end }) => (start < next ? [[start, Math.min(end, next)]] : [])),
  ]);
  return createHash("sha256")
    .update(JSON.stringify([[...days], members]))
    .digest("hex");
}

/** The digests of the files of a dataset, by path; undefined where the list of them is damaged. */
async function readDigests(folder: string, { content }: Manifest): Promise<Map<string, string> | undefined> {
  const text = await readFile(join(folder, DIGESTS), "utf8").catch(() => "");
  if (createHash("sha256").update(text).digest("hex") !== content) return undefined;
  return digestsIn(text);
}

/** The labels of a dataset's symbols with trades. */
interface AllSpans extends Spans {
  /** The last label with a trade among the first labels. */
  readonly lastBefore: Int32Array;
  /** How many labels with trades are before each of `begins`; undefined for a symbol without any. */
  readonly traded: readonly (readonly number[] | undefined)[];
}

/** @param count number of the first labels. @param begins see {@link AllSpans.traded}. */
async function readSpans(
  session: Session,
  { axes, symbols }: LakePanel,
  count: number,
  begins: readonly number[],
): Promise<AllSpans> {
  const { tables } = axes;
  const counts = begins.map((begin) => `CAST(count(*) FILTER (l < ${begin}) AS DOUBLE)`);
  const rows = await session.json<{
    s: number;
    first: number;
    last: number;
    last_before: number | null;
    traded: readonly number[];
  }>(
    `SELECT s, min(l) AS first, max(l) AS last, max(l) FILTER (l < ${count}) AS last_before, [${counts.join(", ")}] AS traded
     FROM raw.bars_1d JOIN ${tables.days.name} ON day = trade_date JOIN ${tables.symbols.name} USING (symbol)
     WHERE volume > 0 AND is_final GROUP BY s`,
  );
  const empty = (): Int32Array => new Int32Array(symbols.length).fill(-1);
  const spans = {
    first: empty(),
    last: empty(),
    lastBefore: empty(),
    traded: symbols.map((): readonly number[] | undefined => undefined),
  };
  for (const { s, first, last, last_before, traded } of rows) {
    spans.first[s] = first;
    spans.last[s] = last;
    spans.lastBefore[s] = last_before ?? -1;
    spans.traded[s] = traded;
  }
  return spans;
}

/**
 * The first label from which on the rows of a block change: a symbol that trades after the first labels gets rows from
 * its last one among them on.
 */
function firstChange({ start, symbols }: SymbolRange, { last, lastBefore }: AllSpans, count: number): number {
  let from = Number.POSITIVE_INFINITY;
  for (let s = start; s < start + symbols.length; s++)
    if ((last[s] as number) >= count) from = Math.min(from, (lastBefore[s] as number) + 1);
  return from;
}

function spansIn({ start, symbols }: SymbolRange, { first, last }: AllSpans): Spans {
  const end = start + symbols.length;
  return { first: first.subarray(start, end), last: last.subarray(start, end) };
}

function tradedIn({ start, symbols }: SymbolRange, { traded }: AllSpans, begin: number): Float64Array {
  return Float64Array.from(symbols, (_, s) => traded[start + s]?.[begin] ?? 0);
}

function namesOf({ symbols }: { readonly symbols: readonly PanelSymbol[] }): string {
  return symbols.map(({ symbol }) => symbol).join(" ");
}

async function areWhole(files: readonly KeptFile[], signal: AbortSignal | undefined): Promise<boolean> {
  const piece = new Uint8Array(PIECE_BYTES);
  for (const { source, sha256 } of files) {
    const found = await sha256OfFile(source, piece, signal).catch(() => undefined);
    signal?.throwIfAborted();
    if (found !== sha256) return false;
  }
  return true;
}

import { compareText } from "../../core/text-order.js";
import type { TimeRange } from "../../core/time.js";
import { perRegion } from "../../db/market/region-sql.js";
import { ident, literalList } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import { hashInName } from "../../lake/files/data-file.js";
import { statedBounds, statedTimes } from "../../lake/files/prune.js";
import type { Lake } from "../../lake/lake.js";
import { readSymbols, writeSymbols } from "../../lake/local/symbols-file.js";
import type { DataFile, Snapshot } from "../../lake/log/snapshot.js";
import { isRegion, REGIONS, type Region } from "../../market/regions.js";
import { possibleEnds } from "../../market/sessions.js";
import { localDate } from "../../market/zone.js";
import { BARS_1M } from "../../schema/bars.js";

/** The cache may have this many times as many entries as the table has live files: others are of earlier versions. */
const MOST_ENTRIES = 2;

/**
 * The symbols of a table's files, by region. Files of this program are read once for each machine, because they never
 * change; if a file has only one symbol, the log names it.
 */
export async function symbolsByRegion(
  session: Session,
  lake: Lake,
  snapshot: Snapshot,
): Promise<Map<string, Set<string>>> {
  const found = new Map<string, Set<string>>();
  const add = (region: string, symbols: Iterable<string>): void => {
    const known = found.get(region) ?? new Set();
    for (const symbol of symbols) known.add(symbol);
    found.set(region, known);
  };
  const several: DataFile[] = [];
  const foreign: DataFile[] = [];
  for (const file of snapshot.files.values()) {
    const bounds = statedBounds(file, "symbol");
    if (bounds !== undefined && bounds.min === bounds.max) add(regionOf(file), [bounds.min]);
    else if (hashInName(file.path) === undefined) foreign.push(file);
    else several.push(file);
  }
  for (const [file, symbols] of await symbolsOfFiles(session, lake, snapshot, several))
    add(regionOf(file), symbols.split(" "));
  for (const { region, symbol } of await foreignSymbols(session, lake, snapshot, foreign))
    add(region, [symbol]);
  return found;
}

function regionOf({ partitionValues }: DataFile): string {
  return partitionValues.region ?? "";
}

/** The symbols of each of some files of this program, with a space between two. */
async function symbolsOfFiles(
  session: Session,
  lake: Lake,
  snapshot: Snapshot,
  files: readonly DataFile[],
): Promise<Map<DataFile, string>> {
  const symbols = new Map<DataFile, string>();
  if (files.length === 0) return symbols;
  const cached = await readSymbols(lake, snapshot.table);
  const unread: DataFile[] = [];
  for (const file of files) {
    const known = cached.get(file.path);
    if (known === undefined) unread.push(file);
    else symbols.set(file, known);
  }
  if (unread.length === 0) return symbols;
  const sound: [string, string][] = [];
  for (const [file, list] of await readFiles(session, lake, snapshot, unread)) {
    symbols.set(file, list);
    if (agrees(file, list)) sound.push([file.path, list]);
  }
  const isFull = cached.size + sound.length > MOST_ENTRIES * snapshot.files.size;
  const kept = isFull ? [...cached].filter(([path]) => snapshot.files.has(path)) : [...cached];
  await writeSymbols(lake, snapshot.table, new Map([...kept, ...sound]));
  return symbols;
}

async function readFiles(
  session: Session,
  lake: Lake,
  snapshot: Snapshot,
  files: readonly DataFile[],
): Promise<[DataFile, string][]> {
  const byUrl = new Map(files.map((file) => [lake.urlOf(snapshot, file), file]));
  const rows = await session.json<{ file: string; symbols: string }>(
    `SELECT file, string_agg(symbol, ' ' ORDER BY symbol) AS symbols
     FROM (SELECT DISTINCT filename AS file, symbol
       FROM read_parquet(${literalList([...byUrl.keys()])}, filename = true, hive_partitioning = false))
     GROUP BY file`,
  );
  return rows.map(({ file, symbols }) => [byUrl.get(file) as DataFile, symbols]);
}

/**
 * Whether the symbols of a file begin and end with those that the log states. A file that is damaged is not read for the
 * cache: it may be restored.
 */
function agrees(file: DataFile, list: string): boolean {
  const bounds = statedBounds(file, "symbol");
  return bounds !== undefined && list.startsWith(`${bounds.min} `) && list.endsWith(` ${bounds.max}`);
}

/** The symbols of files of other programs, which may have other types, and regions only in their columns. */
async function foreignSymbols(
  session: Session,
  lake: Lake,
  snapshot: Snapshot,
  files: readonly DataFile[],
): Promise<{ readonly region: string; readonly symbol: string }[]> {
  if (files.length === 0) return [];
  const relation = await parquetRelation(session, lake.filesOf(snapshot, files));
  return session.json(`SELECT DISTINCT region, symbol FROM (${relation})`);
}

export interface LandedBars {
  readonly dataset: string;
  readonly region: string;
  readonly symbols: number;
  readonly bars: number;
  /** Dates of the first bar, and of the last one that is not in the future. */
  readonly first: string;
  readonly last: string;
}

interface StatedBars {
  readonly region: Region;
  readonly bars: number;
  readonly times: TimeRange;
}

/**
 * The bars of each region in a table. Numbers and dates come from the log; of files that this machine has not read for
 * this before, the column `symbol` is read. If the log lacks them for a file, or has bars of the future, the table is
 * queried.
 *
 * @param now epoch milliseconds.
 */
export async function landedBars(
  session: Session,
  lake: Lake,
  snapshot: Snapshot,
  now: number,
): Promise<LandedBars[]> {
  const files = [...snapshot.files.values()];
  const ends = possibleEnds(now, snapshot.table === BARS_1M);
  const stated = files.map(statedBars);
  if (
    !stated.every((one) => one !== undefined) ||
    stated.some(({ region, times }) => times.end > ends[region])
  )
    return queriedBars(session, snapshot, ends);
  const symbols = await symbolsByRegion(session, lake, snapshot);
  const byRegion = new Map<Region, StatedBars>();
  for (const { region, bars, times } of stated) {
    const known = byRegion.get(region);
    const [start, end] = [
      Math.min(times.start, known?.times.start ?? times.start),
      Math.max(times.end, known?.times.end ?? times.end),
    ];
    byRegion.set(region, { region, bars: bars + (known?.bars ?? 0), times: { start, end } });
  }
  return [...byRegion.values()]
    .sort((a, b) => compareText(a.region, b.region))
    .map(({ region, bars, times }) => ({
      dataset: snapshot.table.name,
      region,
      symbols: symbols.get(region)?.size ?? 0,
      bars,
      first: localDate(times.start, REGIONS[region].zone),
      last: localDate(times.end - 1, REGIONS[region].zone),
    }));
}

function statedBars(file: DataFile): StatedBars | undefined {
  const { region } = file.partitionValues;
  const times = statedTimes(file, "timestamp");
  const bars = file.stats?.numRecords;
  if (!region || !isRegion(region) || times === undefined || bars === undefined) return undefined;
  return { region, bars, times };
}

async function queriedBars(
  session: Session,
  { table: { name } }: Snapshot,
  ends: Readonly<Record<Region, number>>,
): Promise<LandedBars[]> {
  const isPast = `epoch_ms("timestamp") < ${perRegion("region", ({ region }) => String(ends[region]))}`;
  const rows = await session.json<Omit<LandedBars, "dataset">>(
    `SELECT region, count(DISTINCT symbol)::DOUBLE AS symbols, count(*)::DOUBLE AS bars,
       min(trade_date)::VARCHAR AS first, coalesce(max(trade_date) FILTER (${isPast}), max(trade_date))::VARCHAR AS last
     FROM raw.${ident(name)} GROUP BY region ORDER BY region`,
  );
  return rows.map((row) => ({ dataset: name, ...row }));
}

import type { TimeRange } from "../../core/time.js";
import { ident } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import { statedBounds, statedTimes } from "../../lake/files/prune.js";
import type { Lake } from "../../lake/lake.js";
import type { DataFile, Snapshot } from "../../lake/log/snapshot.js";
import { isRegion, REGIONS, type Region } from "../../market/regions.js";
import { localDate } from "../../market/zone.js";

/** The bars of a region in a table. */
export interface LandedBars {
  readonly dataset: string;
  readonly region: string;
  readonly symbols: number;
  readonly bars: number;
  /** Dates of the first and the last bar. */
  readonly first: string;
  readonly last: string;
}

/** Facts from the log about the bars of a file. */
interface StatedBars {
  readonly region: Region;
  readonly bars: number;
  readonly times: TimeRange;
}

/**
 * The bars of each region in a table. Numbers and dates come from the log; of the files only the column `symbol` is
 * read. If the log lacks them for a file, the table is queried.
 */
export async function landedBars(session: Session, lake: Lake, snapshot: Snapshot): Promise<LandedBars[]> {
  const files = [...snapshot.files.values()];
  const stated = files.map(statedBars);
  if (!stated.every((one) => one !== undefined)) return queriedBars(session, snapshot);
  const symbols = await symbolsOf(session, lake, snapshot);
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
    .sort((a, b) => (a.region < b.region ? -1 : 1))
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

async function symbolsOf(
  session: Session,
  lake: Lake,
  snapshot: Snapshot,
): Promise<Map<string, Set<string>>> {
  const found = new Map<string, Set<string>>();
  const add = (region: string, symbol: string): void => {
    const known = found.get(region) ?? new Set();
    found.set(region, known.add(symbol));
  };
  const read: DataFile[] = [];
  for (const file of snapshot.files.values()) {
    const bounds = statedBounds(file, "symbol");
    // If a file has only one symbol, the log names it.
    if (bounds !== undefined && bounds.min === bounds.max) add(file.partitionValues.region ?? "", bounds.min);
    else read.push(file);
  }
  if (read.length === 0) return found;
  const relation = await parquetRelation(session, lake.filesOf(snapshot, read));
  const rows = await session.json<{ region: string; symbol: string }>(
    `SELECT DISTINCT region, symbol FROM (${relation})`,
  );
  for (const { region, symbol } of rows) add(region, symbol);
  return found;
}

async function queriedBars(session: Session, { table: { name } }: Snapshot): Promise<LandedBars[]> {
  const rows = await session.json<Omit<LandedBars, "dataset">>(
    `SELECT region, count(DISTINCT symbol)::DOUBLE AS symbols, count(*)::DOUBLE AS bars,
       min(trade_date)::VARCHAR AS first, max(trade_date)::VARCHAR AS last
     FROM raw.${ident(name)} GROUP BY region ORDER BY region`,
  );
  return rows.map((row) => ({ dataset: name, ...row }));
}

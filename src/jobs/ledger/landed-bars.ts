import { compareText } from "../../core/text-order.js";
import type { TimeRange } from "../../core/time.js";
import { ident } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { statedTimes } from "../../lake/files/prune.js";
import type { Lake } from "../../lake/lake.js";
import type { DataFile, Snapshot } from "../../lake/log/snapshot.js";
import { isRegion, REGIONS, type Region } from "../../market/regions.js";
import { localDate } from "../../market/zone.js";
import { symbolsByRegion } from "./file-symbols.js";

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
 * The bars of each region in a table. Numbers and dates come from the log; of files that this machine has not read for
 * this before, the column `symbol` is read. If the log lacks them for a file, the table is queried.
 */
export async function landedBars(session: Session, lake: Lake, snapshot: Snapshot): Promise<LandedBars[]> {
  const files = [...snapshot.files.values()];
  const stated = files.map(statedBars);
  if (!stated.every((one) => one !== undefined)) return queriedBars(session, snapshot);
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

async function queriedBars(session: Session, { table: { name } }: Snapshot): Promise<LandedBars[]> {
  const rows = await session.json<Omit<LandedBars, "dataset">>(
    `SELECT region, count(DISTINCT symbol)::DOUBLE AS symbols, count(*)::DOUBLE AS bars,
       min(trade_date)::VARCHAR AS first, max(trade_date)::VARCHAR AS last
     FROM raw.${ident(name)} GROUP BY region ORDER BY region`,
  );
  return rows.map((row) => ({ dataset: name, ...row }));
}

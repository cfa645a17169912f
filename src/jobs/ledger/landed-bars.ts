import { compareText } from "../../core/text-order.js";
import type { TimeRange } from "../../core/time.js";
import { perRegion } from "../../db/market/region-sql.js";
import { ident } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { statedTimes } from "../../lake/files/prune.js";
import type { Lake } from "../../lake/lake.js";
import type { DataFile, Snapshot } from "../../lake/log/snapshot.js";
import { isRegion, REGIONS, type Region } from "../../market/regions.js";
import { possibleEnds } from "../../market/sessions.js";
import { localDate } from "../../market/zone.js";
import { BARS_1M } from "../../schema/bars.js";
import { symbolsByRegion } from "./file-symbols.js";

/** The bars of a region in a table. */
export interface LandedBars {
  readonly dataset: string;
  readonly region: string;
  readonly symbols: number;
  readonly bars: number;
  /** Dates of the first bar, and of the last one that is not in the future. */
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

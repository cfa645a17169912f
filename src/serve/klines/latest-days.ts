import type { TimeRange, TradingDate } from "../../core/time.js";
import { perRegion } from "../../db/market/region-sql.js";
import { fileRange } from "../../lake/files/prune.js";
import type { DataFile, Snapshot } from "../../lake/log/snapshot.js";
import { isRegion, REGIONS, type Region } from "../../market/regions.js";
import { dayRange, possibleEnds } from "../../market/sessions.js";
import { localDate } from "../../market/zone.js";
import type { TableSchema } from "../../schema/column.js";
import type { LakeVersion } from "../read/lake-version.js";

/** When each trading day of a lake had its first minute bar. */
export interface FirstMinutes {
  /** For each region, the latest day with a minute bar at or before an instant, from local midnight to midnight. */
  latestDays(until: number): Map<Region, TimeRange>;
  /** The first minute of a region's next day after an instant, in epoch milliseconds; infinity where there is none. */
  next(region: Region, until: number): number;
}

/** Reads when each day of some files of minute bars had its first bar. */
export async function firstMinutes(
  version: LakeVersion,
  snapshot: Snapshot,
  files: readonly DataFile[],
): Promise<FirstMinutes> {
  const days = await version.query(async (session) => {
    const relation = await version.relation(session, snapshot, files);
    return session.json<{ region: Region; date: TradingDate; first: number }>(
      `SELECT region, CAST(trade_date AS VARCHAR) AS date, CAST(epoch_ms(min("timestamp")) AS DOUBLE) AS first
       FROM (${relation}) GROUP BY region, trade_date ORDER BY trade_date DESC`,
    );
  });
  return {
    latestDays(until) {
      const latest = new Map<Region, TimeRange>();
      for (const { region, date, first } of days)
        if (first <= until && !latest.has(region)) latest.set(region, dayRange(region, date));
      return latest;
    },
    next(region, until) {
      const firsts = days.filter((day) => day.region === region && day.first > until);
      return firsts.reduce((next, { first }) => Math.min(next, first), Number.POSITIVE_INFINITY);
    },
  };
}

/** The latest trading day by region: from local midnight to midnight. */
export type DaysOf = ReadonlyMap<Region, TimeRange>;

/**
 * The latest trading day of each region with minute bars: from local midnight to midnight. Bars of the future, which other
 * programs and earlier versions may have landed, make no day.
 *
 * @param now epoch milliseconds.
 */
export async function latestDays(
  version: LakeVersion,
  snapshot: Snapshot,
  now: number,
): Promise<Map<Region, TimeRange>> {
  const ends = possibleEnds(now, true);
  const newest = new Map<Region, number>();
  const note = (region: string | null | undefined, timestamp: number): void => {
    if (!region || !isRegion(region)) return;
    newest.set(region, Math.max(newest.get(region) ?? Number.NEGATIVE_INFINITY, timestamp));
  };
  const silent: DataFile[] = [];
  for (const file of snapshot.files.values()) {
    const { region } = file.partitionValues;
    const { start } = fileRange(file);
    const possibleEnd = region && isRegion(region) ? ends[region] : Number.POSITIVE_INFINITY;
    if (start >= possibleEnd) continue;
    const newestTime = Date.parse(file.stats?.maxValues?.timestamp ?? "");
    if (newestTime < possibleEnd) note(region, newestTime);
    else silent.push(file);
  }
  for (const { region, timestamp } of await newestIn(version, snapshot, silent, ends))
    note(region, timestamp);
  return new Map(
    [...newest].map(([region, timestamp]) => [
      region,
      dayRange(region, localDate(timestamp, REGIONS[region].zone)),
    ]),
  );
}

/** Reads the newest bar in files for which the log has no statistics, or that have bars of the future, too. */
async function newestIn(
  version: LakeVersion,
  snapshot: Snapshot,
  files: readonly DataFile[],
  ends: Readonly<Record<Region, number>>,
): Promise<{ region: string; timestamp: number }[]> {
  if (files.length === 0) return [];
  return version.query(async (session) => {
    const relation = await version.relation(session, snapshot, files);
    return session.json(
      `SELECT region, CAST(epoch_ms(max("timestamp")) AS DOUBLE) AS "timestamp" FROM (${relation})
       WHERE epoch_ms("timestamp") < ${perRegion("region", ({ region }) => String(ends[region]))} GROUP BY region`,
    );
  });
}

/** Most symbols of a table that are cached, so that requests for ever more new symbols cannot fill the memory. */
const MOST_GUESSES = 200_000;

/**
 * Where each symbol's bars ended when they were last read. It is only an estimate of where to begin a look back, so
 * that the newest bars of a delisted symbol, which end years before the others, are found quickly.
 */
export class NewestBars {
  /** By table, then symbol: a text made of both would have to be hashed for each look-up. */
  readonly #tables = new Map<string, Map<string, number>>();

  /** Epoch milliseconds; -Infinity where the symbol had no bar; undefined where nothing is known. */
  get(table: TableSchema, symbol: string): number | undefined {
    return this.#tables.get(table.name)?.get(symbol);
  }

  note(table: TableSchema, symbol: string, timestamp: number): void {
    let timestamps = this.#tables.get(table.name);
    if (timestamps === undefined || timestamps.size >= MOST_GUESSES) {
      timestamps = new Map();
      this.#tables.set(table.name, timestamps);
    }
    timestamps.set(symbol, timestamp);
  }
}

import type { TimeRange, TradingDate } from "../../core/time.js";
import type { DataFile, Snapshot } from "../../lake/log/snapshot.js";
import type { Region } from "../../market/regions.js";
import { dayRange } from "../../market/sessions.js";
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

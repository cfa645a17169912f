import {
  adjustedPriceSql,
  BAR_AGGREGATES,
  exactSharesSql,
  int64Sql,
  statedPriceSql,
  unitsSql,
} from "../../db/market/bar-sql.js";
import { sessionGridEndSql, sessionPartEndSql, sessionPartStartSql } from "../../db/market/bucket-sql.js";
import { localMidnightSql, lotSql } from "../../db/market/region-sql.js";
import type { Adjustment } from "../../market/period.js";
import { REGION_NAMES, type Region } from "../../market/regions.js";
import { BARS_1M } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { hashInName } from "../files/data-file.js";
import { partitionDates, rowsOfFiles } from "../files/prune.js";
import type { DataFile, Snapshot } from "../log/snapshot.js";
import { maxBytesOf, type SegmentPlace } from "../segments/segment-folder.js";

/** What is known of minutes without reading them. */
export interface KnownMinutes {
  readonly regions: readonly Region[];
  readonly since: string;
}

/**
 * A SELECT of the bars of a period that minutes make: the rows of `adjusted`, of the relation `minutes`. It is
 * `adjusted_minutes` over `priced_bars` in one piece, without what cannot be: DuckDB plans it in a third of the time.
 * Where prices are adjusted, the relation `steps` has the values.
 *
 * @param stepMs SQL of the length of the bars in milliseconds.
 */
export function aggregatedMinutes(
  adjustment: Adjustment,
  stepMs: string,
  { regions, since }: KnownMinutes,
): string {
  const lot = lotSql("region", regions);
  const parts = [
    `${sessionPartStartSql("region", "local_ms", regions)} AS part_start`,
    `${sessionPartEndSql("region", "local_ms", regions)} AS part_end`,
  ];
  const price = (sql: string, name: string): string =>
    `${adjustedPriceSql(sql, adjustment, "value")} AS ${name}`;
  const stated = ["open", "high", "low"].map((name) => price(`(${statedPriceSql(name, "close")})`, name));
  const others = ["close", "prev_close", "settlement_price"].map((name) => price(name, name));
  const aggregates = Object.entries(BAR_AGGREGATES).map(([name, sql]) => `${sql} AS ${name}`);
  const join =
    adjustment === "none"
      ? ""
      : "LEFT JOIN steps ON steps.symbol = minute.symbol AND trade_date >= start_date AND trade_date < end_date";
  return `SELECT symbol, trade_date, make_timestamptz(label * 1000) AS "timestamp", open, high, low, close,
      ${unitsSql("shares", `(${lot})`)} AS volume, amount, prev_close, open_interest, settlement_price,
      ${lot} AS lot, ${int64Sql("shares")} AS shares, landed_bars, is_final, region
    FROM (
      SELECT symbol, trade_date, label, region, ${aggregates.join(", ")}, sum(shares) AS shares,
        count(*) AS landed_bars, bool_and(is_final) AS is_final
      FROM (
        SELECT minute.symbol, trade_date, "timestamp", region, ${[...stated, ...others].join(", ")}, amount,
          open_interest, is_final, ${exactSharesSql("volume", "lot")} AS shares,
          epoch_ms("timestamp") - local_ms + ${sessionGridEndSql("region", "local_ms", stepMs, "part_start", "part_end", regions)} AS label
        FROM (
          SELECT *, ${parts.join(", ")}
          FROM (
            SELECT *, epoch_ms("timestamp") - (${localMidnightSql("trade_date", "region", regions, since)}) AS local_ms
            FROM minutes
          )
        ) AS minute
        ${join}
      )
      GROUP BY symbol, region, trade_date, label
    )`;
}

/** Estimated bytes of a minute in the copy. */
const MINUTE_BYTES = 17;
/** Estimated bytes in the copy that a minute has in the bars of longer periods, where symbols trade in every minute. */
const BARS_BYTES = 9;
/** The same where many symbols trade in few minutes, so that a bar is made of fewer. */
const SPARSE_BARS_BYTES = 18;
/** The part of the space of all segments and copies that the minutes of one lake may take. */
export const MINUTES_SHARE = 1 / 4;
/** Most of that space that is kept free of bars for the minutes of the newest month. */
const NEWEST_SHARE = 1 / 4;
/**
 * Milliseconds after its newest file from which a month is copied. Without this limit, a lake in which minutes land
 * throughout the day would have its whole copy built again after each of them.
 */
const SETTLED_MS = 3_600_000;

export interface CopiedFiles {
  readonly snapshot: Snapshot;
  readonly files: readonly DataFile[];
}

export interface Month {
  /** The first trading date of the month. */
  readonly first: string;
  readonly files: readonly DataFile[];
}

/** Most bytes of the minutes of one lake at a place. */
export function maxMinuteBytes(place: SegmentPlace): number {
  return maxBytesOf(place) * MINUTES_SHARE;
}

interface CopiedMinutes {
  readonly aggregated: CopiedFiles;
  /** Those of them whose minutes are copied, too. */
  readonly copied: CopiedFiles;
  /** Estimated bytes of the copy. */
  readonly bytes: number;
}

/**
 * What the copy for SQL has of minutes, as far as the space permits: first the minutes of the newest month without new
 * files, unless they take much of it; then the bars of longer periods of such months, the newest first; then the minutes
 * of consecutive ones of these months.
 *
 * @param now epoch milliseconds.
 * @returns undefined where it has none, or where another program wrote a file: its rows may be of any month.
 */
export function copiedMinutes(
  snapshots: readonly Snapshot[],
  place: SegmentPlace,
  now: number,
): CopiedMinutes | undefined {
  const snapshot = snapshots.find(({ table }) => table.name === BARS_1M.name);
  const months = snapshot && monthsOfTable(snapshot);
  if (snapshot === undefined || months === undefined) return undefined;
  const isSettled = ({ files }: Month): boolean =>
    files.every(({ writtenAt }) => writtenAt <= now - SETTLED_MS);
  const space = maxMinuteBytes(place);
  const settled = months.filter(isSettled);
  const newestBytes = minuteBytes(filesOf(settled.slice(0, 1)));
  const kept = newestBytes <= space * NEWEST_SHARE ? newestBytes : 0;
  const aggregated = settled.slice(0, fitting(settled, barsBytes, space - kept));
  if (aggregated.length === 0) return undefined;
  const newest = months.slice(months.indexOf(aggregated[0] as Month));
  const gap = aggregated.findIndex((month, at) => month !== newest[at]);
  const consecutive = gap < 0 ? aggregated : aggregated.slice(0, gap);
  const bytes = barsBytes(filesOf(aggregated));
  const copied = consecutive.slice(0, fitting(consecutive, minuteBytes, space - bytes));
  return {
    aggregated: { snapshot, files: filesOf(aggregated) },
    copied: { snapshot, files: filesOf(copied) },
    bytes: bytes + minuteBytes(filesOf(copied)),
  };
}

/** Estimated bytes of the bars of longer periods that files of minutes make. */
export function barsBytes(files: readonly DataFile[]): number {
  const dense = files.filter(({ partitionValues }) => partitionValues.region === "CN");
  return rowsOfFiles(files) * SPARSE_BARS_BYTES + rowsOfFiles(dense) * (BARS_BYTES - SPARSE_BARS_BYTES);
}

/** Estimated bytes of the minutes of files in the copy. */
export function minuteBytes(files: readonly DataFile[]): number {
  return rowsOfFiles(files) * MINUTE_BYTES;
}

function filesOf(months: readonly Month[]): DataFile[] {
  return months.flatMap(({ files }) => files);
}

/** How many of the first months fit into a space. It stops before the first month whose rows are not known. */
function fitting(
  months: readonly Month[],
  bytesOf: (files: readonly DataFile[]) => number,
  space: number,
): number {
  let bytes = 0;
  for (const [before, { files }] of months.entries()) {
    bytes += bytesOf(files);
    if (!Number.isFinite(bytes) || bytes > space) return before;
  }
  return months.length;
}

/**
 * When the months that are copied may change although the lake does not: the next time at which a month becomes one
 * without new files, in epoch milliseconds; infinity where each of them is.
 */
export function nextSettlement(snapshots: readonly Snapshot[], now: number): number {
  const snapshot = snapshots.find(({ table }) => table.name === BARS_1M.name);
  const months = (snapshot && monthsOfTable(snapshot)) ?? [];
  const times = months.map(({ files }) => Math.max(...files.map(({ writtenAt }) => writtenAt)) + SETTLED_MS);
  return Math.min(...times.filter((time) => time > now));
}

/** What the partitions of minutes say about all of them; nothing of files that another program wrote. */
export function knownMinutes(snapshot: Snapshot): KnownMinutes {
  const since = monthsOfTable(snapshot)?.at(-1)?.first ?? "";
  const names = [...snapshot.files.values()].map(({ partitionValues }) => partitionValues.region);
  const isKnown = since !== "" && names.every((name) => REGION_NAMES.some((region) => region === name));
  return { since, regions: isKnown ? REGION_NAMES.filter((region) => names.includes(region)) : REGION_NAMES };
}

const monthsOfSnapshots = new WeakMap<Snapshot, readonly Month[] | undefined>();

/** As {@link monthsOf}, of all files of a table: a table may have thousands, and each reader asks for them. */
function monthsOfTable(snapshot: Snapshot): readonly Month[] | undefined {
  if (!monthsOfSnapshots.has(snapshot))
    monthsOfSnapshots.set(snapshot, monthsOf(snapshot.table, snapshot.files.values()));
  return monthsOfSnapshots.get(snapshot);
}

/** The files of each month of all regions, the newest month first; undefined where a file's month is not known. */
export function monthsOf({ span }: TableSchema, files: Iterable<DataFile>): Month[] | undefined {
  if (span === undefined) return undefined;
  const byFirst = new Map<string, Month & { readonly files: DataFile[] }>();
  for (const file of files) {
    const dates = partitionDates(span, file);
    if (dates === undefined || hashInName(file.path) === undefined) return undefined;
    const month = byFirst.get(dates.first) ?? { first: dates.first, files: [] };
    month.files.push(file);
    byFirst.set(dates.first, month);
  }
  return [...byFirst.values()].sort((a, b) => (a.first < b.first ? 1 : -1));
}

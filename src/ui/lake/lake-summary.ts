import { shellWord } from "../../core/shell-word.js";
import { DAY_MS } from "../../core/time.js";
import { byteCount, type Lake, rowCount } from "../../lake/lake.js";
import { freeBytesOf } from "../../lake/local/free-space.js";
import { readHistory } from "../../lake/log/history.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import { REGIONS } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import { localDate } from "../../market/zone.js";
import { TABLES } from "../../schema/tables.js";
import type { LakeReport, TableReport } from "../page-data.js";
import type { LakeState } from "../session/lake-states.js";

/**
 * The tables of a state. Only the log is read, not the data files. @param location of the lake, in the form of commands
 */
export async function lakeSummary(
  lake: Lake,
  state: LakeState,
  location: string,
  now: number,
): Promise<LakeReport> {
  return {
    state: state.id,
    location: lake.location,
    lakeWord: shellWord(location),
    asOf: state.asOf ?? null,
    tables: state.snapshots
      .filter(({ version }) => version >= 0)
      .map((snapshot) => tableReport(snapshot, now)),
    refused: state.refused.map(({ table, error }) => ({
      name: table.name,
      message: error.message,
      hint: error.hint ?? null,
    })),
    freeBytes: lake.storage.access === undefined ? ((await freeBytesOf(lake.work.path)) ?? null) : null,
  };
}

function tableReport(snapshot: Snapshot, now: number): TableReport {
  const { table, version, files, committedAt } = snapshot;
  return {
    name: table.name,
    doc: table.doc.replace(/ Key:.*$/, ""),
    version,
    files: files.size,
    rows: rowCount(snapshot),
    bytes: byteCount(snapshot),
    committedAt: committedAt ?? null,
    ...daysOf(snapshot, now),
  };
}

/** The first and the last day of a table of bars until now, from the statistics of its files; null for other tables. */
function daysOf(
  { table, files }: Snapshot,
  now: number,
): { readonly first: string | null; readonly last: string | null } {
  let first: string | null = null;
  let last: string | null = null;
  if (table.span === undefined) return { first: null, last: null };
  for (const { stats, partitionValues } of files.values()) {
    const zone = zoneOf(partitionValues.region, stats?.minValues?.symbol);
    if (Date.parse(stats?.minValues?.timestamp ?? "") > now) continue;
    const today = localDate(now, zone);
    const [min, max] = [stats?.minValues?.timestamp, stats?.maxValues?.timestamp].map((text) =>
      text === undefined ? undefined : localDate(Date.parse(text), zone),
    );
    if (min !== undefined && (first === null || min < first)) first = min;
    if (max !== undefined && (last === null || max > last)) last = max > today ? today : max;
  }
  return { first, last };
}

function zoneOf(region: string | null | undefined, symbol: string | undefined): string {
  const known = region ?? (symbol === undefined ? undefined : regionOf(symbol));
  return Object.values(REGIONS).find((facts) => facts.region === known)?.zone ?? "UTC";
}

/** Commits within this time of each other, in milliseconds, are one step of the slider. */
const STEP_MS = 60_000;
/** Most steps that are returned: the newest ones. */
const MOST_STEPS = 400;

/**
 * The instants (epoch milliseconds, ascending) of the lake's versions, over all tables. Of commits in quick succession
 * only the last one is returned.
 */
export async function commitTimes(lake: Lake): Promise<readonly number[]> {
  const histories = await Promise.all(
    TABLES.map((table) => readHistory(lake.storage, table).catch(() => [])),
  );
  const times = histories
    .flat()
    .flatMap(({ committedAt }) => (committedAt === undefined ? [] : [committedAt]));
  const sorted = times.sort((a, b) => a - b);
  const steps = sorted.filter((time, at) => (sorted[at + 1] ?? time + DAY_MS) - time > STEP_MS);
  return steps.slice(-MOST_STEPS);
}

import { groupBy } from "../../core/group-by.js";
import {
  dateOfEpochDay,
  subtractRanges,
  type TimeRange,
  type TradingDate,
  unionRanges,
} from "../../core/time.js";
import { ident } from "../../db/quote.js";
import { countRows } from "../../db/session/count-rows.js";
import { jsonParameter } from "../../db/session/named-values.js";
import { type Session, TempTable } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import { regionOf } from "../../market/symbol.js";
import { ABSENCES_1D } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { isCompacted, writeDataFile } from "../files/data-file.js";
import { verifyContent } from "../files/verify-content.js";
import type { Lake } from "../lake.js";
import { commitWithRetries, retryOnConflict } from "../log/commit.js";
import { commitInfoAction, removeAction } from "../log/commit-actions.js";
import type { AddFile } from "../log/delta-actions.js";
import type { DataFile, Snapshot } from "../log/snapshot.js";
import { stageObjects } from "./clear-values.js";
import { deleteUncommitted, type LandOptions, upsertDerived } from "./upsert.js";

export interface WithdrawReport {
  readonly rows: number;
  /** The table's version afterwards; the same as before where there was nothing to do. */
  readonly version: number;
}

/**
 * Removes rows from a table's current version, in one commit. Older versions still have the rows, because their files
 * remain.
 *
 * @param keys a temporary table with the table's key columns.
 * @throws {LakeError} for a live file that is damaged.
 * @throws {CommitConflict} when other writers were first at every attempt.
 */
export async function withdrawRows(
  session: Session,
  lake: Lake,
  table: TableSchema,
  keys: string,
  options: Pick<LandOptions, "runId" | "now" | "fence">,
): Promise<WithdrawReport> {
  return retryOnConflict(lake, table, (base) => withdrawFrom(session, lake, base, keys, options));
}

/**
 * Makes one attempt. @returns undefined where another writer has replaced one of the files: then nothing was committed.
 */
async function withdrawFrom(
  session: Session,
  lake: Lake,
  base: Snapshot,
  keys: string,
  { runId, now, fence }: Pick<LandOptions, "runId" | "now" | "fence">,
): Promise<WithdrawReport | undefined> {
  const { table } = base;
  const key = table.key.map(ident).join(", ");
  const live = await parquetRelation(session, lake.filesOf(base), { withFile: true });
  const touched = await session.json<{ live_file: string; rows: bigint }>(
    `SELECT live_file, count(*) AS rows FROM (${live}) SEMI JOIN ${ident(keys)} USING (${key}) GROUP BY live_file`,
  );
  const rows = touched.reduce((sum, one) => sum + Number(one.rows), 0);
  if (rows === 0) return { rows, version: base.version };
  const byUrl = new Map([...base.files.values()].map((file) => [lake.urlOf(base, file), file]));
  const files = touched.map(({ live_file }) => byUrl.get(live_file) as DataFile);
  await verifyContent(lake, base, files);
  const adds: AddFile[] = [];
  for (const file of files) {
    const own = await parquetRelation(session, lake.filesOf(base, [file]));
    const left = `SELECT * FROM (${own}) ANTI JOIN ${ident(keys)} USING (${key})`;
    if ((await countRows(session, `(${left})`)) === 0) continue;
    const as = isCompacted(file.path) ? "compacted" : "landed";
    adds.push(await writeDataFile(session, lake, base, left, file.partitionValues, { as, now }));
  }
  const after = await commitWithRetries(lake, base, {
    actions: [
      commitInfoAction({ operation: "WITHDRAW", runId, now }, { numDeletedRows: rows }),
      ...files.map((file) => removeAction(file, { now, dataChange: true })),
      ...adds.map((add) => ({ add })),
    ],
    stillHolds: (newest) => files.every(({ path }) => newest.files.has(path)),
    now,
    fence,
  });
  if (after !== undefined) return { rows, version: after.version };
  await deleteUncommitted(lake, table, adds);
  return undefined;
}

/** What is known of days without a daily bar of a symbol. */
export interface AbsentDays {
  readonly symbol: string;
  /** Days since 1970-01-01; `end` is exclusive. */
  readonly first: number;
  readonly end: number;
  /** Whether the service had no bar; false where it had some, or bars were set aside. */
  readonly hasNone: boolean;
}

/** Number of weekdays before a day, both since Monday 1969-12-29. @param day days since 1970-01-01. */
function weekdayOf(day: number): number {
  const sinceMonday = day + 3;
  const weeks = Math.floor(sinceMonday / 7);
  return weeks * 5 + Math.min(5, sinceMonday - weeks * 7);
}

function dateOfWeekday(weekday: number): TradingDate {
  const weeks = Math.floor(weekday / 5);
  return dateOfEpochDay(weeks * 7 + (weekday - weeks * 5) - 3);
}

/**
 * Lands what is known of days without daily bars, in the order in which it became known: later facts count more than earlier
 * ones, and than what the table has.
 *
 * @throws {CommitConflict} when other writers were first at every attempt.
 */
export async function landAbsentDays(
  session: Session,
  lake: Lake,
  known: readonly AbsentDays[],
  { operation, runId, now: landedAt, fence }: LandOptions,
): Promise<void> {
  const options: LandOptions = { operation, runId, now: landedAt, fence };
  const bySymbol = groupBy(
    known.filter(({ first, end }) => first < end),
    ({ symbol }) => symbol,
  );
  if (bySymbol.size === 0) return;
  const symbols = [...bySymbol.keys()];
  const after = async (base: Snapshot) => {
    const landed = await landedStretches(session, lake, base, symbols);
    return new Map(
      symbols.map((symbol) => {
        const before = landed.get(symbol) ?? [];
        return [symbol, { before, now: stretchesAfter(before, bySymbol.get(symbol) ?? []) }];
      }),
    );
  };
  const row = (symbol: string, { start, end }: TimeRange) => ({
    symbol,
    first_date: dateOfWeekday(start),
    last_date: dateOfWeekday(end - 1),
    region: regionOf(symbol),
  });
  await using staged = new TempTable(session, "staged_absences");
  let gone: Readonly<Record<string, unknown>>[] = [];
  const make = async (base: Snapshot): Promise<string> => {
    const changes = [...(await after(base))];
    // Stretches that are a part of others now, or of which nothing is left.
    gone = changes.flatMap(([symbol, { before, now }]) => {
      const starts = new Set(now.map(({ start }) => start));
      return before.filter(({ start }) => !starts.has(start)).map((one) => row(symbol, one));
    });
    const rows = changes.flatMap(([symbol, { before, now }]) => {
      const ends = new Map(before.map(({ start, end }) => [start, end]));
      return now.filter(({ start, end }) => ends.get(start) !== end).map((one) => row(symbol, one));
    });
    await stageObjects(session, staged.name, ABSENCES_1D.columns, rows);
    return staged.name;
  };
  await upsertDerived(session, lake, ABSENCES_1D, make, options);
  if (gone.length === 0) return;
  await stageObjects(session, staged.name, ABSENCES_1D.columns, gone);
  await withdrawRows(session, lake, ABSENCES_1D, staged.name, options);
}

/** The stretches of symbols in a version of the table, in weekdays. */
async function landedStretches(
  session: Session,
  lake: Lake,
  base: Snapshot,
  symbols: readonly string[],
): Promise<Map<string, TimeRange[]>> {
  const found = new Map<string, TimeRange[]>();
  if (base.files.size === 0) return found;
  const rows = await session.json<{ symbol: string; first: number; last: number }>(
    `SELECT symbol, CAST(first_date - DATE '1970-01-01' AS INTEGER) AS first, CAST(last_date - DATE '1970-01-01' AS INTEGER) AS last
     FROM (${await parquetRelation(session, lake.filesOf(base))})
     WHERE symbol IN (SELECT unnest(from_json($1, '["VARCHAR"]'))) ORDER BY symbol, first_date`,
    [jsonParameter(symbols)],
  );
  for (const { symbol, first, last } of rows) {
    const stretch = { start: weekdayOf(first), end: weekdayOf(last + 1) };
    const own = found.get(symbol);
    if (own === undefined) found.set(symbol, [stretch]);
    else own.push(stretch);
  }
  return found;
}

function stretchesAfter(before: readonly TimeRange[], known: readonly AbsentDays[]): TimeRange[] {
  let stretches: TimeRange[] = [...before];
  for (const { first, end, hasNone } of known) {
    const days = { start: weekdayOf(first), end: weekdayOf(end) };
    if (hasNone) stretches.push(days);
    else stretches = unionRanges(stretches).flatMap((one) => subtractRanges(one, [days]));
  }
  return unionRanges(stretches);
}

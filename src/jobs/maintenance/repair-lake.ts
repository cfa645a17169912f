import { compareText } from "../../core/text-order.js";
import type { Clock } from "../../core/time.js";
import { literal } from "../../db/quote.js";
import { Session, TempTable } from "../../db/session/session.js";
import { recordVerified } from "../../lake/files/verify-content.js";
import type { Lake } from "../../lake/lake.js";
import { upsert } from "../../lake/land/upsert.js";
import { writerSpillOptions } from "../../lake/local/work-folder.js";
import { commitWithRetries, retryOnConflict } from "../../lake/log/commit.js";
import { commitInfoAction, removeAction } from "../../lake/log/commit-actions.js";
import type { DataFile, Snapshot } from "../../lake/log/snapshot.js";
import {
  type CopiedRows,
  copyLostRows,
  isSamePartition,
  type LostFile,
  lacksWithdrawal,
  lostFiles,
  restoreFile,
} from "../../lake/maintenance/lost-files.js";
import { overlappingVersions, repairVersions } from "../../lake/maintenance/repair-versions.js";
import { regionOf } from "../../market/symbol.js";
import { EX_FACTORS } from "../../schema/actions.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { hasVersions } from "../../schema/reference.js";
import { REQUESTS, RUNS } from "../../schema/runs.js";
import { askedSymbols, landRequests, ledgerSql, type RequestRecord } from "../ledger/ledger.js";
import { eachTable, publishAfter, type TableReports } from "./each-table.js";

const OUTDATED: CopiedRows = {
  rows: 0,
  refused: "rows were withdrawn since the copy was made, or the log is too short to tell",
};

export interface RepairOptions {
  /** Identifies the repair, for the log and the ledger. */
  readonly runId: string;
  /** A copy of the lake, from which lost files or their rows are taken. @default none */
  readonly from?: Lake;
  /** Whether losses are only reported, without any change. @default false */
  readonly dryRun?: boolean;
  /**
   * Ends the work, also within a file that is compared. Once the lost files of a table are repaired, the table is
   * repaired to its end.
   */
  readonly signal?: AbortSignal;
  /** Called before each file is read. */
  readonly onProgress?: (progress: { table: string; file: string; done: number; total: number }) => void;
}

export interface RepairedFile extends LostFile {
  /**
   * `restored`: the copy had the same file, which was copied. `copied`: the file was removed from the log, and rows of
   * the copy landed instead. `removed`: the file was removed from the log, by the repair or by another writer during it.
   * `found`: the file is still in the log, in a dry run, or because an error ended the repair of its table before.
   */
  readonly outcome: "restored" | "copied" | "removed" | "found";
  /** Number of rows of the copy that landed instead. */
  readonly copiedRows: number;
  /** Why no rows were taken from the copy, although it has rows; undefined where its rows were taken. */
  readonly notCopied?: string | undefined;
  /** Number of symbols that are requested again; 0 where the contents did not come from a service. */
  readonly symbolsAskedAgain: number;
}

export interface RepairReport {
  readonly table: string;
  readonly checked: number;
  readonly files: readonly RepairedFile[];
  /**
   * Number of subjects that had two versions at the same time, in a table of dated versions; 0 where an error ended the
   * repair before they were mended.
   */
  readonly overlapping: number;
  readonly version: number;
}

/**
 * Repairs tables whose files are missing or damaged. Every file is compared with the hash in its name. A lost file is
 * taken from a copy of the lake that has it; otherwise a commit removes it from the log, and the ledger records that
 * its contents are requested again. If the copy has the rows in other files, these land at once, and are still
 * requested again, because the copy may be older than the lost file. If the copy may have rows that were withdrawn
 * since, nothing is taken from it. The damaged file remains until a vacuum. Subjects that have two versions at the same
 * time are mended, see {@link repairVersions}. A table that cannot be repaired, because
 * its log cannot be read for example, is an error of the result; the others are repaired. Where files of the table were
 * lost, its report says what was done before the error.
 */
export async function repairLake(
  lake: Lake,
  tables: readonly TableSchema[],
  options: RepairOptions,
  clock: Pick<Clock, "now">,
): Promise<TableReports<RepairReport>> {
  // The ledger is repaired first, because the repair of the other tables reads it.
  const ordered = [...tables.filter((one) => one === REQUESTS), ...tables.filter((one) => one !== REQUESTS)];
  const repaired = await eachTable(ordered, options.signal, async (table, fail) => {
    const snapshot = await lake.snapshot(table);
    if (snapshot.version < 0) return undefined;
    using session = await Session.open({
      ...writerSpillOptions(lake.work),
      stores: [...(lake.access.stores ?? []), ...(options.from?.access.stores ?? [])],
    });
    return await repairTable({ session, lake, snapshot, options, clock }, fail);
  });
  return publishAfter(
    lake,
    repaired,
    ({ files, overlapping }) => options.dryRun !== true && files.length + overlapping > 0,
  );
}

interface TableRepair {
  readonly session: Session;
  readonly lake: Lake;
  readonly snapshot: Snapshot;
  readonly options: RepairOptions;
  readonly clock: Pick<Clock, "now">;
}

/** What was done so far about the lost files of a table. */
interface Progress {
  readonly restored: Set<LostFile>;
  /** Numbers of symbols that are requested again. */
  asked: ReadonlyMap<LostFile, number>;
  /** Lost files that are no longer in the log, also where another writer has removed them. */
  readonly removed: Set<LostFile>;
  readonly copied: Map<LostFile, CopiedRows>;
}

async function repairTable(repair: TableRepair, fail: (error: unknown) => void): Promise<RepairReport> {
  const { lake, snapshot, clock } = repair;
  const { dryRun = false, signal, onProgress } = repair.options;
  const { table } = snapshot;
  const lost = await lostFiles(lake, snapshot, { signal, onProgress });
  signal?.throwIfAborted();
  const lostOnes = new Set(lost.map(({ file }) => file));
  const sound = [...snapshot.files.values()].filter((file) => !lostOnes.has(file));
  if (!dryRun) await recordVerified(lake.storage, snapshot, sound, clock.now());
  const progress: Progress = { restored: new Set(), asked: new Map(), removed: new Set(), copied: new Map() };
  let overlapping = 0;
  let newest = snapshot;
  try {
    await repairFiles(repair, lost, progress);
    // An interrupt must not hide from the report what was changed.
    overlapping = await mendVersions(repair, sound, lost.length > 0 ? undefined : signal);
    newest = await lake.snapshot(table);
  } catch (error) {
    // Nor must an error.
    if (lost.length + overlapping === 0) throw error;
    fail(error);
    // A commit that seemed to fail may have been made.
    newest = await lake.snapshot(table).catch(() => snapshot);
    for (const one of dryRun ? [] : lost) if (!newest.files.has(one.file.path)) progress.removed.add(one);
  }
  const files = lost.map((one): RepairedFile => {
    const { rows: copiedRows, refused: notCopied } = progress.copied.get(one) ?? { rows: 0 };
    const symbolsAskedAgain = progress.asked.get(one) ?? 0;
    return { ...one, outcome: outcomeOf(one, progress), copiedRows, notCopied, symbolsAskedAgain };
  });
  return { table: table.name, checked: snapshot.files.size, files, overlapping, version: newest.version };
}

function outcomeOf(lost: LostFile, { restored, removed, copied }: Progress): RepairedFile["outcome"] {
  if (restored.has(lost)) return "restored";
  if (!removed.has(lost)) return "found";
  return (copied.get(lost)?.rows ?? 0) > 0 ? "copied" : "removed";
}

/** Restores lost files, or takes them out of the table, and records each step as soon as it is done. */
async function repairFiles(
  { session, lake, snapshot, options, clock }: TableRepair,
  lost: readonly LostFile[],
  progress: Progress,
): Promise<void> {
  const { table } = snapshot;
  const { runId, from, dryRun = false } = options;
  const { restored, copied } = progress;
  for (const one of dryRun || from === undefined ? [] : lost)
    if (await restoreFile(lake, from as Lake, snapshot, one.file)) restored.add(one);
  const removed = lost.filter((one) => !restored.has(one));
  const now = clock.now();
  // The ledger is changed first. If the process ends here, contents that are not lost are requested again. In the other
  // order, lost contents would count as landed.
  progress.asked = await askAgain(session, lake, table, removed, { runId, now, dryRun });
  if (dryRun || removed.length === 0) return;
  await takeOut(lake, table, removed, runId, now);
  for (const one of removed) progress.removed.add(one);
  if (from === undefined) return;
  const isOutdated = await lacksWithdrawal(lake, from, table);
  for (const one of removed) {
    const most = lostRows(removed, one, copied);
    const rows = isOutdated
      ? OUTDATED
      : await copyLostRows(session, lake, from, table, one, { runId, now, most });
    copied.set(one, rows);
  }
}

/** Mends versions that overlap, or counts them in a dry run. @returns the number of their subjects. */
async function mendVersions(
  { session, lake, snapshot, options, clock }: TableRepair,
  sound: readonly DataFile[],
  signal: AbortSignal | undefined,
): Promise<number> {
  const { table } = snapshot;
  if (!hasVersions(table)) return 0;
  if (options.dryRun) return (await overlappingVersions(session, lake, snapshot, sound)).subjects;
  return await repairVersions(session, lake, table, { runId: options.runId, now: clock.now(), signal });
}

/** How many rows of a file's partition were lost and have not been copied yet; undefined where this is not known. */
function lostRows(
  removed: readonly LostFile[],
  { file }: LostFile,
  copied: ReadonlyMap<LostFile, CopiedRows>,
): number | undefined {
  const own = removed.filter((one) => isSamePartition(file, one.file));
  if (own.some(({ rows }) => rows === undefined)) return undefined;
  return own.reduce((sum, one) => sum + (one.rows ?? 0) - (copied.get(one)?.rows ?? 0), 0);
}

/** Commits the removal of files from a table. Files that another writer has replaced are left out. */
async function takeOut(
  lake: Lake,
  table: TableSchema,
  lost: readonly LostFile[],
  runId: string,
  now: number,
): Promise<void> {
  await retryOnConflict(lake, table, async (newest) => {
    const left = lost.filter(({ file }) => newest.files.has(file.path));
    if (left.length === 0) return newest;
    const rows = left.reduce((sum, { rows: own }) => sum + (own ?? 0), 0);
    const info = { numRemovedFiles: left.length, numLostRows: rows };
    return await commitWithRetries(lake, newest, {
      actions: [
        commitInfoAction({ operation: "REPAIR", runId, now }, info),
        ...left.map(({ file }) => removeAction(file, { now, dataChange: true })),
      ],
      stillHolds: ({ files }) => left.every(({ file }) => files.has(file.path)),
      now,
    });
  });
}

interface AskAgainOptions {
  readonly runId: string;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly dryRun: boolean;
}

/**
 * Records in the ledger that the contents of lost files are requested again. For bars, these are all requested symbols
 * that a file can contain, in the time range of the file; for factors, the symbols at all times; for other tables,
 * everything. Earlier responses no longer count for this data.
 *
 * @returns the number of symbols that are requested again, by file.
 */
async function askAgain(
  session: Session,
  lake: Lake,
  table: TableSchema,
  lost: readonly LostFile[],
  { runId, now, dryRun }: AskAgainOptions,
): Promise<Map<LostFile, number>> {
  const counts = new Map<LostFile, number>();
  // A request without ledger rows is not covered anyway, and reports of runs cannot be requested.
  if (lost.length === 0 || table === REQUESTS || table === RUNS) return counts;
  if (!dryRun) await datedBeforeNow(session, lake, table.name, { runId, now });
  const hasWindows = table === BARS_1D || table === BARS_1M || table === EX_FACTORS;
  const asked = hasWindows ? await askedSymbols(session, lake, table.name) : [];
  const records: RequestRecord[] = [];
  for (const [index, one] of lost.entries()) {
    const symbols = asked.filter(({ symbol }) => canHold(one, symbol));
    counts.set(one, symbols.length);
    if (hasWindows && symbols.length === 0) continue;
    const since = Math.min(...symbols.map((symbol) => symbol.since));
    records.push({
      runId,
      pipeline: "repair",
      requestId: `${table.name}-${index}`,
      dataset: table.name,
      endpoint: "repair",
      symbols: symbols.map(({ symbol }) => symbol),
      window: hasWindows ? (one.range ?? { start: since, end: now }) : undefined,
      askedAt: now,
      status: "lost",
      attempts: 0,
      rows: 0,
      rejected: 0,
      bytes: 0,
      durationMs: 0,
      absent: [],
      reason: `${one.file.path} ${one.what}`,
    });
  }
  if (!dryRun) await landRequests(session, lake, records, { operation: "REPAIR", runId, now });
  return counts;
}

/**
 * Corrects the times of requests that a clock which was ahead has dated now or later: they become earlier than now, in
 * the same order. Otherwise their responses would count as newer than the loss.
 */
async function datedBeforeNow(
  session: Session,
  lake: Lake,
  dataset: string,
  { runId, now }: Pick<AskAgainOptions, "runId" | "now">,
): Promise<void> {
  await using ahead = new TempTable(session, "requests_ahead");
  await ahead.fill(
    `SELECT * REPLACE (make_timestamptz((${now} - dense_rank() OVER (ORDER BY asked_at DESC)) * 1000) AS asked_at)
     FROM (${await ledgerSql(session, lake)})
     WHERE dataset = ${literal(dataset)} AND asked_at >= make_timestamptz(${now * 1000}::BIGINT)`,
  );
  await upsert(session, lake, REQUESTS, ahead.name, { operation: "REPAIR", runId, now });
}

function canHold({ file, symbols }: LostFile, symbol: string): boolean {
  const { region } = file.partitionValues;
  if (region && regionOf(symbol) !== region) return false;
  return (
    symbols === undefined ||
    (compareText(symbol, symbols.first) >= 0 && compareText(symbol, symbols.last) <= 0)
  );
}

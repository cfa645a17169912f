import { BarlakeError, LakeError, messageOf, QueryError, UsageError } from "../../core/errors.js";
import type { Clock } from "../../core/time.js";
import { interruptOn } from "../../db/session/interrupt-on.js";
import { Session } from "../../db/session/session.js";
import { TempTable } from "../../db/session/temp-table.js";
import type { Lake } from "../../lake/lake.js";
import { landBars, stageBars } from "../../lake/land/land-bars.js";
import { landStatements } from "../../lake/land/land-statements.js";
import { landVersions } from "../../lake/land/land-versions.js";
import { type RejectCount, Rejects } from "../../lake/land/rejects.js";
import { stageObjects } from "../../lake/land/stage-objects.js";
import { landTradingDays } from "../../lake/land/trading-days.js";
import type { LandOptions, LandReport } from "../../lake/land/upsert.js";
import { writerSpillOptions } from "../../lake/local/work-folder.js";
import { publish } from "../../lake/publish.js";
import { finalEnds } from "../../market/sessions.js";
import { BARS_1D } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { EXCHANGES, INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../schema/reference.js";
import { STATEMENT_NAMES } from "../../schema/statements.js";
import { tableNamed } from "../../schema/tables.js";
import { landExchangeCounts } from "../ingest/land-exchange-counts.js";
import { checkMap } from "./check-map.js";
import { readBars } from "./import-bars.js";
import type { ImportOptions } from "./import-options.js";
import { readInstruments, readStatements, readUniverses } from "./import-rows.js";
import { checkSymbolOptions } from "./row-symbol.js";
import { openSource, rejectFile, type Source } from "./source.js";

/** Tables that files can be imported into. */
export const IMPORTABLE = ["bars_1d", "bars_1m", "instruments", "universes", ...STATEMENT_NAMES] as const;
/** A table that files can be imported into. */
export type ImportTable = (typeof IMPORTABLE)[number];

/** The result of an import. */
export interface ImportReport {
  /** The id of the run in the ledger, under which its rejects are listed. */
  readonly runId: string;
  /** Number of files that were read. */
  readonly files: number;
  readonly landed: readonly LandReport[];
  /** Rows that were set aside, by rule and reason. */
  readonly rejected: readonly RejectCount[];
  /** Sentences about what may be wrong in the files, such as volumes in another unit. */
  readonly remarks: readonly string[];
}

/** The error of an import that failed after its rows had landed, completely or in part. */
export class UnfinishedImport extends LakeError {
  /** What has landed. */
  readonly report: ImportReport;

  constructor(report: ImportReport, cause: unknown) {
    const hint = cause instanceof BarlakeError ? cause.hint : undefined;
    super(messageOf(cause), { hint, cause });
    this.report = report;
  }
}

/** What an import works with. */
interface Import {
  readonly session: Session;
  readonly table: TableSchema;
  readonly rejects: Rejects;
  /** The rows to land, from all files. */
  readonly staged: TempTable;
  /** The members of universes, where these are imported. */
  readonly members: TempTable;
}

/**
 * Imports files of one kind into a table, in one commit. Rows that break the schema are stored in `rejects/` with file,
 * line and reason; a file that cannot be read is set aside as a whole; all other rows land. Rows that an earlier import
 * set aside (same file, line and reason) are counted, but not stored again.
 *
 * @param onFile called after each file, for a progress bar.
 * @throws {UsageError} for a map to an unknown column or an impossible symbol, and when the only file lacks a column
 *   that the table needs; {@link BarlakeError} when a compressed file is truncated; {@link UnfinishedImport} when an
 *   error followed a landing; the signal's reason if it aborts before anything has landed.
 */
export async function runImport(
  lake: Lake,
  name: ImportTable,
  files: readonly string[],
  options: ImportOptions,
  clock: Clock,
  onFile: (done: number) => void = () => {},
): Promise<ImportReport> {
  const table = tableNamed(name) as TableSchema;
  checkMap(table, options.map);
  checkSymbolOptions(options, files);
  if (options.symbol !== undefined && !isBars(table))
    throw new UsageError(
      `\`symbol: "${options.symbol}"\`: is for bars, and ${name} has a symbol in each row`,
    );
  using session = await Session.open({ ...writerSpillOptions(lake.work), ...lake.access });
  const rejects = new Rejects(session, options.runId);
  const staged = new TempTable(session, "staged_import");
  const work: Import = { session, table, rejects, staged, members: new TempTable(session, "staged_members") };
  await stage(work);
  const remarks: string[] = [];
  for (const [index, path] of files.entries()) {
    try {
      using _ = interruptOn(session, options.signal);
      await using source = await openSource(session, path, name, rejects);
      remarks.push(...(await readFile(work, source, options)));
    } catch (error) {
      // If the user's interrupt ended the statement, its error is not about the file.
      options.signal?.throwIfAborted();
      if (error instanceof BarlakeError && !(error instanceof QueryError) && files.length === 1) throw error;
      await rejectFile(rejects, name, path, error);
    }
    onFile(index + 1);
    options.signal?.throwIfAborted();
  }
  const now = clock.now();
  const landed: LandReport[] = [];
  let rejected: readonly RejectCount[] = [];
  const report = (): ImportReport => {
    return { runId: options.runId, files: files.length, landed, rejected, remarks };
  };
  try {
    for await (const one of land(work, lake, { operation: "IMPORT", runId: options.runId, now }))
      landed.push(one);
    rejected = await rejects.save(lake, { isNew: true });
    await publish(lake);
  } catch (error) {
    if (landed.length === 0) throw error;
    throw new UnfinishedImport(report(), error);
  }
  return report();
}

const isBars = (table: TableSchema): boolean => table.name.startsWith("bars_");
const withoutValidity = (table: TableSchema) => table.columns.filter((c) => !c.name.startsWith("valid_"));

async function stage({ session, table, staged, members }: Import): Promise<void> {
  if (isBars(table)) return stageBars(session, staged.name);
  if (table.open) {
    return staged.define("symbol VARCHAR, period_end DATE, announce_date DATE, source VARCHAR, line BIGINT");
  }
  await stageObjects(session, staged.name, withoutValidity(table), []);
  if (table === UNIVERSES) await stageObjects(session, members.name, withoutValidity(UNIVERSE_MEMBERS), []);
}

async function readFile(
  { session, table, rejects, staged, members }: Import,
  source: Source,
  given: ImportOptions,
): Promise<string[]> {
  const options = { ...given, rejects };
  if (isBars(table)) return readBars(session, table, source, staged.name, options);
  if (table === INSTRUMENTS) return readInstruments(session, table, source, staged.name, options);
  if (table === UNIVERSES)
    return readUniverses(session, source, { universes: staged.name, members: members.name }, options);
  return readStatements(session, table, source, staged.name, options);
}

/** Lands the staged rows. It yields after each table, so that a later error does not hide what has already landed. */
async function* land(
  { session, table, rejects, staged, members }: Import,
  lake: Lake,
  options: LandOptions,
): AsyncGenerator<LandReport, void, undefined> {
  if (isBars(table)) {
    const { now } = options;
    const ends = finalEnds(now);
    yield await landBars(session, lake, table, staged.name, { ...options, rejects, finalEnd: ends });
    if (table !== BARS_1D) return;
    const days = await landTradingDays(session, lake, options);
    if (days.inserted + days.updated > 0) yield days;
    return;
  }
  if (table.open)
    return yield await landStatements(session, lake, table, staged.name, { ...options, rejects });
  yield await landVersions(session, lake, table, staged.name, options);
  if (table === UNIVERSES) {
    const complete = `c.id IN (SELECT id FROM ${staged.name})`;
    yield await landVersions(session, lake, UNIVERSE_MEMBERS, members.name, { ...options, complete });
  }
  if (table === INSTRUMENTS) yield await landExchangeCounts(session, lake, EXCHANGES, options);
}

import { BarlakeError, LakeError, messageOf, QueryError } from "../../core/errors.js";
import type { Clock } from "../../core/time.js";
import { ident } from "../../db/quote.js";
import { Session } from "../../db/session.js";
import type { Lake } from "../../lake/lake.js";
import { landBars, stageBars } from "../../lake/land/land-bars.js";
import { landStatements } from "../../lake/land/land-statements.js";
import { landVersions } from "../../lake/land/land-versions.js";
import { openRejects, type RejectCount, saveRejects } from "../../lake/land/rejects.js";
import { stageObjects } from "../../lake/land/stage-objects.js";
import { landTradingDays } from "../../lake/land/trading-days.js";
import type { LandOptions, LandReport } from "../../lake/land/upsert.js";
import { publish } from "../../lake/publish.js";
import { finalEnd } from "../../market/sessions.js";
import { BARS_1D } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { EXCHANGES, INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../schema/reference.js";
import { tableNamed } from "../../schema/tables.js";
import { landExchangeCounts } from "../ingest/land-exchange-counts.js";
import { checkMap } from "./check-map.js";
import { readBars } from "./import-bars.js";
import type { ImportOptions } from "./import-options.js";
import { readInstruments, readStatements, readUniverses } from "./import-rows.js";
import { openSource, rejectFile, type Source } from "./source.js";

/** Tables that files can be imported into. */
export const IMPORTABLE = [
  "bars_1d",
  "bars_1m",
  "instruments",
  "universes",
  "balance_sheet",
  "cash_flow",
] as const;
export type ImportTable = (typeof IMPORTABLE)[number];

/** The result of an import. */
export interface ImportReport {
  readonly runId: string;
  readonly files: number;
  readonly landed: readonly LandReport[];
  readonly rejected: readonly RejectCount[];
  readonly remarks: readonly string[];
}

/** An import whose rows have landed, wholly or in part, and that failed after that. */
export class UnfinishedImport extends LakeError {
  /** What has landed. */
  readonly report: ImportReport;

  constructor(report: ImportReport, cause: unknown) {
    const hint = cause instanceof BarlakeError ? cause.hint : undefined;
    super(messageOf(cause), { hint, cause });
    this.report = report;
  }
}

const STAGED = "staged_import";
const STAGED_MEMBERS = "staged_members";

/**
 * Imports files of one kind into a table, in one commit. Rows that break the schema are kept in `rejects/` with file,
 * line and reason; a file that cannot be read is set aside as a whole; the rest lands. Rows that an earlier import set
 * aside (same file, line and reason) are counted, but not kept again.
 *
 * @param onFile called after each file, for a progress bar.
 * @throws {UsageError} for a map to an unknown column, and when the only file lacks a column that the table needs;
 *   {@link BarlakeError} when a compressed file is truncated; {@link UnfinishedImport} when an error followed a landing.
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
  using session = await Session.open({ spillUnder: lake.work.staging, ...lake.access });
  await openRejects(session);
  await stage(session, table);
  const remarks: string[] = [];
  for (const [index, path] of files.entries()) {
    try {
      const source = await openSource(session, path, options.runId, name);
      remarks.push(...(await readFile(session, table, source, options)));
    } catch (error) {
      if (error instanceof BarlakeError && !(error instanceof QueryError) && files.length === 1) throw error;
      await rejectFile(session, options.runId, name, path, error);
    }
    onFile(index + 1);
  }
  const now = clock.now();
  const landed: LandReport[] = [];
  let rejected: readonly RejectCount[] = [];
  const report = (): ImportReport => {
    return { runId: options.runId, files: files.length, landed, rejected, remarks };
  };
  try {
    for await (const one of land(session, lake, table, { operation: "IMPORT", runId: options.runId, now }))
      landed.push(one);
    rejected = await saveRejects(session, lake, options.runId, { isNew: true });
    await publish(lake);
  } catch (error) {
    if (landed.length === 0) throw error;
    throw new UnfinishedImport(report(), error);
  }
  return report();
}

const isBars = (table: TableSchema): boolean => table.name.startsWith("bars_");
const withoutValidity = (table: TableSchema) => table.columns.filter((c) => !c.name.startsWith("valid_"));

async function stage(session: Session, table: TableSchema): Promise<void> {
  if (isBars(table)) return stageBars(session, STAGED);
  if (table.open) {
    const identity = "symbol VARCHAR, period_end DATE, announce_date DATE, source VARCHAR, line BIGINT";
    await session.run(`CREATE OR REPLACE TEMP TABLE ${ident(STAGED)} (${identity})`);
    return;
  }
  await stageObjects(session, STAGED, withoutValidity(table), []);
  if (table === UNIVERSES) await stageObjects(session, STAGED_MEMBERS, withoutValidity(UNIVERSE_MEMBERS), []);
}

async function readFile(
  session: Session,
  table: TableSchema,
  source: Source,
  options: ImportOptions,
): Promise<string[]> {
  if (isBars(table)) return readBars(session, table, source, STAGED, options);
  if (table === INSTRUMENTS) return readInstruments(session, table, source, STAGED, options);
  if (table === UNIVERSES)
    return readUniverses(session, source, { universes: STAGED, members: STAGED_MEMBERS }, options);
  return readStatements(session, table, source, STAGED, options);
}

/** Lands the staged rows. It yields after each table, so that a later error does not hide what has landed. */
async function* land(
  session: Session,
  lake: Lake,
  table: TableSchema,
  options: LandOptions,
): AsyncGenerator<LandReport, void, undefined> {
  if (isBars(table)) {
    const { now } = options;
    const ends = { CN: finalEnd("CN", now), HK: finalEnd("HK", now), US: finalEnd("US", now) };
    yield await landBars(session, lake, table, STAGED, { ...options, finalEnd: ends });
    if (table !== BARS_1D) return;
    const days = await landTradingDays(session, lake, options);
    if (days.inserted + days.updated > 0) yield days;
    return;
  }
  if (table.open) return yield await landStatements(session, lake, table, STAGED, options);
  yield await landVersions(session, lake, table, STAGED, options);
  if (table === UNIVERSES) {
    const complete = `c.id IN (SELECT id FROM ${ident(STAGED)})`;
    yield await landVersions(session, lake, UNIVERSE_MEMBERS, STAGED_MEMBERS, { ...options, complete });
  }
  if (table === INSTRUMENTS) yield await landExchangeCounts(session, lake, EXCHANGES, options);
}

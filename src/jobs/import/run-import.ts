import { BarlakeError, hintOf, LakeError, messageOf, QueryError, UsageError } from "../../core/errors.js";
import type { Clock } from "../../core/time.js";
import { literal } from "../../db/quote.js";
import { interruptOn, Session } from "../../db/session/session.js";
import type { Lake } from "../../lake/lake.js";
import { type RejectCount, Rejects } from "../../lake/land/rejects.js";
import type { LandReport } from "../../lake/land/upsert.js";
import { writerSpillOptions } from "../../lake/local/work-folder.js";
import type { Txn } from "../../lake/log/delta-actions.js";
import type { Fence } from "../../lake/log/fence.js";
import { publish } from "../../lake/publish.js";
import { parseSymbol } from "../../market/symbol.js";
import { readSymbol } from "../../market/symbol-notation.js";
import { CORPORATE_ACTIONS, EX_FACTORS, SYMBOL_CHANGES } from "../../schema/actions.js";
import type { TableSchema } from "../../schema/column.js";
import { INSTRUMENTS, UNIVERSES } from "../../schema/reference.js";
import { tableNamed } from "../../schema/tables.js";
import { checkOptions } from "./check-options.js";
import { importActions, importFactors, importSymbolChanges } from "./import-actions.js";
import { importBars } from "./import-bars.js";
import { importInstruments, importUniverses } from "./import-objects.js";
import { IMPORTABLE, type ImportOptions, type ImportTable } from "./import-options.js";
import { importStatements } from "./import-statements.js";
import { chooseColumns } from "./plan/choose-columns.js";
import { expectPlanned, type FormPlan, type SavedPlan } from "./plan/import-plan.js";
import { planOf } from "./plan/plan-of.js";
import { describeRejects } from "./rows/distinct-texts.js";
import { hasCommas, headMark, markShown } from "./rows/number-sql.js";
import {
  type FileGroup,
  groupFiles,
  type MalformedLine,
  type OpenGroup,
  openGroup,
} from "./rows/raw-rows.js";
import type { FileVerdict, ReadGroup, TableImport } from "./table-import.js";
import { type TextFile, TextFiles } from "./text/text-file.js";
import { stemOf } from "./text/whole-file.js";

export { IMPORTABLE, type ImportTable };

interface ImportRun extends ImportOptions {
  /** Identifies the run in the log, and names the file of its rejects. */
  readonly runId: string;
  /** Ends the import before the next file. Once all files have been read, all of them land. */
  readonly signal?: AbortSignal | undefined;
  /** Files that do not fit it are refused. @default what is certain is found */
  readonly plan?: SavedPlan | undefined;
  /** The lake whose instruments say what a lot is. @default the one that is landed in */
  readonly reference?: Lake | undefined;
  /** What a run of a pipeline adds, of which the import is a part. @default it is none */
  readonly part?: PartOfRun | undefined;
}

/** An import that is a part of a run: the run reports refused files, and publishes the lake at its end. */
interface PartOfRun {
  readonly rejectsName: string;
  /** Called with each file that is refused; the only one, too, is no error then. */
  readonly onRefused: (path: string, reason: string) => void;
  /** Called once all files have been read. If it throws, nothing lands. */
  readonly beforeLanding: () => Promise<void>;
  readonly records: () => readonly Txn[];
  /** Called with the rows that were set aside, before they are saved. */
  readonly beforeSaving: (rejects: Rejects, session: Session) => Promise<void>;
  readonly fence: Fence;
}

/** The result of an import. */
export interface ImportReport {
  /** The id of the run in the ledger, under which its rejects are listed. */
  readonly runId: string;
  /** Number of files that were read. */
  readonly files: number;
  /** How the files were read, by their form. */
  readonly plan: readonly FormPlan[];
  /** The first rows as they land, of the first file. */
  readonly preview: readonly Readonly<Record<string, unknown>>[];
  readonly landed: readonly LandReport[];
  /** Rows that were set aside, by rule and reason. */
  readonly rejected: readonly RejectCount[];
  /** Sentences about what may be wrong in the files. */
  readonly remarks: readonly string[];
}

/** The error of an import that failed after its rows had landed, completely or in part. */
export class UnfinishedImport extends LakeError {
  /** What has landed. */
  readonly report: ImportReport;

  constructor(report: ImportReport, cause: unknown) {
    super(messageOf(cause), { hint: hintOf(cause), cause });
    this.report = report;
  }
}

const PREVIEW_ROWS = 3;

/**
 * Imports files of one kind into a table, in one commit, in four steps: a file becomes columns of text; a plan says which
 * column is which field, and in which form; each row is read or set aside with file, line and reason; the rest is
 * merged. What a file does not say is not changed. Of one key, the later file wins. A file that has two readings is
 * refused with the option that decides; among several files it is set aside, and the others land. Rows that an earlier
 * import set aside (same file, line and reason) are counted, but not stored again.
 *
 * @param onFile called after each file, for a progress bar.
 * @throws {UsageError} for an impossible option, and when the only file is refused; {@link BarlakeError} when it is
 *   truncated; {@link UnfinishedImport} when an error followed a landing; the signal's reason if it aborts before
 *   anything has landed.
 */
export async function runImport(
  lake: Lake,
  name: ImportTable,
  paths: readonly string[],
  run: ImportRun,
  clock: Clock,
  onFile: (done: number) => void = () => {},
): Promise<ImportReport> {
  const table = tableNamed(name) as TableSchema;
  const options: ImportOptions = { ...run, ...run.plan?.options };
  checkOptions(table, options, paths);
  const { runId, signal, plan, part } = run;
  using session = await Session.open({ ...writerSpillOptions(lake.work), ...lake.access });
  await using rejects = new Rejects(session, runId, part?.rejectsName);
  const now = clock.now();
  const files = new TextFiles(session, lake.work, name, { ...options, map: options.map ?? {} });
  const landed: LandReport[] = [];
  try {
    const refuse = refuser(rejects, name, paths.length === 1, part?.onRefused);
    await using rows = await openTable(table, {
      session,
      options,
      rejects,
      reference: run.reference ?? lake,
      now,
    });
    using _ = interruptOn(session, signal);
    const opened: (TextFile | undefined)[] = [];
    for (const [index, path] of paths.entries()) {
      const open = async (): Promise<TextFile> => {
        const file = await files.open(path);
        if (plan !== undefined) expectPlanned(path, file.columns, plan);
        return file;
      };
      opened.push(await attempt(signal, open, (error) => refuse(path, error)));
      onFile(index);
    }
    const { reads, malformed } = await readGroups(
      session,
      name,
      rows,
      groupFiles(opened),
      options,
      signal,
      files,
      refuse,
    );
    const judged = await attempt(
      signal,
      () => rows.judge(reads),
      (error) => {
        throw error;
      },
    );
    const verdicts = judged ?? new Map<number, FileVerdict>();
    for (const [place, { refusal }] of verdicts)
      if (refusal !== undefined) {
        const path = paths[place] as string;
        await refuse(path, new UsageError(`file ${path}: ${refusal.reason}`, { hint: refusal.hint }));
      }
    onFile(paths.length);
    signal?.throwIfAborted();
    const forms = await planOf(session, reads, verdicts, options, rows);
    const firstPlace = reads
      .flatMap(({ group }) => group.places)
      .find((place) => verdicts.get(place)?.refusal === undefined);
    const firstRows = firstPlace === undefined ? [] : await rows.preview(firstPlace, PREVIEW_ROWS);
    const preview = firstRows.map(({ row: _row, ...shown }) => shown);
    const remarks = [...(rows.notes ?? []), ...remarksOf(paths, verdicts)];
    let rejected: readonly RejectCount[] = [];
    const report = (): ImportReport => ({
      runId,
      files: paths.length,
      plan: forms,
      preview,
      landed,
      rejected,
      remarks,
    });
    try {
      await part?.beforeLanding();
      const landing = { operation: "IMPORT", runId, now, progress: part?.records(), fence: part?.fence };
      for await (const one of rows.land(lake, landing)) landed.push(one);
      await describeRejects(session, rejects, reads, malformed);
      await addMalformed(rejects, name, reads, malformed, remarks);
      await part?.beforeSaving(rejects, session);
      rejected = await rejects.save(lake, { isNew: true });
      if (part === undefined) await publish(lake);
    } catch (error) {
      if (landed.length === 0) throw error;
      throw new UnfinishedImport(report(), error);
    }
    return report();
  } finally {
    await files.close();
  }
}

function openTable(table: TableSchema, work: Parameters<typeof importInstruments>[0]): Promise<TableImport> {
  if (table.name.startsWith("bars_")) return importBars(work, table);
  if (table === INSTRUMENTS) return importInstruments(work);
  if (table === CORPORATE_ACTIONS) return importActions(work);
  if (table === EX_FACTORS) return importFactors(work);
  if (table === SYMBOL_CHANGES) return importSymbolChanges(work);
  return table === UNIVERSES ? importUniverses(work) : importStatements(work, table);
}

/** Sets a file aside as a whole; the error of the only file is thrown. */
type Refuse = (path: string, error: unknown) => Promise<void>;

function refuser(
  rejects: Rejects,
  dataset: string,
  isOnly: boolean,
  onRefused?: PartOfRun["onRefused"],
): Refuse {
  return async (path, error) => {
    if (isOnly && onRefused === undefined && error instanceof BarlakeError && !(error instanceof QueryError))
      throw error;
    const hint = error instanceof BarlakeError && error.hint !== undefined ? ` (${error.hint})` : "";
    const reason = printable(`${messageOf(error).split("\n")[0] ?? ""}${hint}`).replace(`file ${path}: `, "");
    onRefused?.(path, reason);
    await rejects.add(
      dataset,
      `SELECT ${literal(path)} AS source, NULL AS line, NULL AS symbol, NULL AS timestamp, 'unreadable_file' AS rule,
         ${literal(reason)} AS reason, NULL AS row`,
    );
  };
}

/** A text without characters that no statement or terminal takes. */
function printable(text: string): string {
  return text.replace(/[^\P{Cc}\t\n]/gu, "\ufffd");
}

/** Runs a step. An error of it is about files, unless the user's interrupt ended the statement. */
async function attempt<T>(
  signal: AbortSignal | undefined,
  step: () => Promise<T>,
  onError: (error: unknown) => Promise<void>,
): Promise<T | undefined> {
  try {
    return await step();
  } catch (error) {
    signal?.throwIfAborted();
    await onError(error);
    return undefined;
  } finally {
    signal?.throwIfAborted();
  }
}

async function readGroups(
  session: Session,
  name: string,
  rows: TableImport,
  groups: readonly FileGroup[],
  options: ImportOptions,
  signal: AbortSignal | undefined,
  files: TextFiles,
  refuse: Refuse,
): Promise<{ reads: ReadGroup[]; malformed: MalformedLine[] }> {
  const reads: ReadGroup[] = [];
  const malformed: MalformedLine[] = [];
  const readOne = async (group: FileGroup): Promise<void> => {
    const read = await readGroup(session, name, rows, group, options);
    reads.push(read.read);
    malformed.push(...read.malformed);
  };
  const readAlone = async (file: TextFile, place: number): Promise<void> => {
    const alone = { files: [file], places: [place] };
    await attempt(
      signal,
      () => readOne(alone),
      async (error) => {
        await rows.remove(alone);
        if (hasMixedLines(error) && file.readPath === file.path)
          return readAlone(await files.withUniformLines(file), place);
        await refuse(file.path, error);
      },
    );
  };
  for (const group of groups) {
    if (group.files.length === 1) {
      await readAlone(group.files[0] as TextFile, group.places[0] as number);
      continue;
    }
    await attempt(
      signal,
      () => readOne(group),
      async () => {
        // One file of the group is at fault: each of them alone shows which.
        await rows.remove(group);
        for (const [i, file] of group.files.entries()) await readAlone(file, group.places[i] as number);
      },
    );
  }
  return { reads, malformed };
}

/** Whether DuckDB's reader stopped at lines that end in different ways. */
function hasMixedLines(error: unknown): boolean {
  return error instanceof QueryError && error.message.includes("state machine");
}

async function readGroup(
  session: Session,
  name: string,
  rows: TableImport,
  group: FileGroup,
  options: ImportOptions,
): Promise<{ read: ReadGroup; malformed: readonly MalformedLine[] }> {
  const first = group.files[0] as TextFile;
  const chosen = chooseColumns(first.path, name, first.columns, options.map ?? {}, options.volumeUnit);
  const mayBeElsewhere = (field: string): boolean =>
    (field === "symbol" && rows.hasFileSymbols) || (field === "symbols" && chosen.fields.has("symbol"));
  const missing = rows.required.filter((field) => !chosen.fields.has(field) && !mayBeElsewhere(field));
  if (missing.length > 0) {
    throw new UsageError(`file ${first.path}: has no column for ${missing.join(", ")}`, {
      hint: `give them with \`map: { ${missing[0]}: "COLUMN" }\`; its columns are ${first.columns.join(", ")}`,
    });
  }
  const symbol = symbolOf(group, chosen.fields.has("symbol"), rows.hasFileSymbols, options);
  const mark = options.decimal ?? headMark(group);
  let read: ReadGroup = { group, chosen, mark };
  await using open = await openGroup(session, group, mark);
  let more = await rows.add(open, read, symbol);
  const isShown = mark === "," || options.decimal !== undefined;
  if (!isShown && ((await rows.oddRows(group)) > 0 || (await hasCommas(session, name, open)))) {
    const shown = await markShown(session, group, chosen.fields);
    if (shown === ",") {
      read = { ...read, mark: shown };
      await rows.remove(group);
      await using again = await openGroup(session, group, shown);
      more = await rows.add(again, read, symbol);
    }
  }
  await expectOneSymbol(session, group, open, chosen.fields.get("symbol")?.index, options);
  if (more.size > 0) read = { ...read, chosen: withFields(chosen, more, first.columns) };
  return { read, malformed: await open.malformed() };
}

/** SQL of the text of the symbol of a group without a column of it. @throws {UsageError} where nothing says the symbol. */
function symbolOf(
  { files }: FileGroup,
  hasColumn: boolean,
  mayBeFileName: boolean,
  { symbol, exchange }: ImportOptions,
): string | undefined {
  if (!mayBeFileName) return undefined;
  if (symbol !== undefined) return literal(parseSymbol(symbol));
  const [first] = files;
  if (first?.csv?.wide !== undefined) return "ticker";
  if (hasColumn) return undefined;
  const bad = files.find(({ path }) => "reason" in readSymbol(stemOf(path), exchange));
  if (bad === undefined) return "stem";
  throw new UsageError(`file ${bad.path}: has no column "symbol", and its name is not a symbol`, {
    hint: 'add `symbol: "AAPL.US"`, or `exchange: "US"` where the name is a code, or give the column with `map: { symbol: "COLUMN" }`',
  });
}

/** @throws {UsageError} where the user names one symbol for files that have several. */
async function expectOneSymbol(
  session: Session,
  { files }: FileGroup,
  open: OpenGroup,
  index: number | undefined,
  { symbol }: ImportOptions,
): Promise<void> {
  if (symbol === undefined) return;
  const tickers = new Set(files[0]?.csv?.wide?.map(({ ticker }) => ticker));
  const column = index === undefined ? undefined : open.columns[index];
  if (column !== undefined && tickers.size === 0) {
    const rows = await session.json<{ text: string }>(
      `SELECT DISTINCT CAST(${column.sql} AS VARCHAR) AS text FROM ${open.from} WHERE ${column.sql} IS NOT NULL ORDER BY text LIMIT 3`,
    );
    for (const { text } of rows) tickers.add(text);
  }
  if (tickers.size < 2) return;
  throw new UsageError(
    `file ${files[0]?.path}: has several symbols, such as ${[...tickers].slice(0, 3).join(", ")}`,
    { hint: "leave `symbol` out; `exchange` completes codes without an exchange" },
  );
}

function withFields(
  chosen: ReadGroup["chosen"],
  more: ReadonlyMap<string, number>,
  columns: readonly string[],
): ReadGroup["chosen"] {
  const added = [...more].map(([field, index]) => [field, { index, name: columns[index] ?? field }] as const);
  const taken = new Set(added.map(([, { name }]) => name));
  return {
    ...chosen,
    fields: new Map([...chosen.fields, ...added]),
    unused: chosen.unused.filter(({ name }) => !taken.has(name)),
  };
}

/** Lines that are no rows go to the rejects; text after the table is only a remark. */
async function addMalformed(
  rejects: Rejects,
  dataset: string,
  reads: readonly ReadGroup[],
  malformed: readonly MalformedLine[],
  remarks: string[],
): Promise<void> {
  const files = reads.flatMap(({ group }) => group.files);
  const values: string[] = [];
  for (const { path: readPath, line, text: given, reason } of malformed) {
    const text = printable(given);
    if (text.trim() === "") continue;
    const file = files.find((one) => one.readPath === readPath);
    const path = file?.path ?? readPath;
    const delimiter = file?.csv?.dialect.delimiter ?? ",";
    if (!text.includes(delimiter) && !/\d{2}/.test(text))
      remarks.push(`${path}: line ${line} is no row: "${text.trim().slice(0, 60)}"`);
    else
      values.push(`(${literal(path)}, ${line}, ${literal(reason.split("\n")[0] ?? "")}, ${literal(text)})`);
  }
  if (values.length === 0) return;
  await rejects.add(
    dataset,
    `SELECT source, line, NULL AS symbol, NULL AS timestamp, 'unparsable' AS rule, reason, to_json(text) AS row
     FROM (VALUES ${values.join(", ")}) AS t(source, line, reason, text)`,
  );
}

function remarksOf(paths: readonly string[], verdicts: ReadonlyMap<number, FileVerdict>): string[] {
  return [...verdicts].flatMap(([place, { remarks }]) =>
    remarks.map((remark) => `${paths[place]}: ${remark}`),
  );
}

import { messageOf, UsageError } from "../../core/errors.js";
import { type Clock, ticksOf } from "../../core/time.js";
import { jsonParameter } from "../../db/session/named-values.js";
import { Session } from "../../db/session/session.js";
import type { RejectCount } from "../../lake/land/rejects.js";
import type { LandReport } from "../../lake/land/upsert.js";
import { writerSpillOptions } from "../../lake/local/work-folder.js";
import { publish } from "../../lake/publish.js";
import { type EndedRun, takeRun } from "../../lake/requests/run-lease.js";
import { landRequests } from "../ledger/ledger.js";
import { type Progress, RunProgress } from "../run/report/run-progress.js";
import { changesOf, recordEnded, recordRun } from "../run/report/run-record.js";
import { type RunReport, reportOf } from "../run/report/run-report.js";
import { landOptions, type RunContext } from "../run/run-context.js";
import { inOneLake, runSubject, runTables } from "../run/run-demand.js";
import { type RunFacts, RunLog } from "../run/run-log.js";
import type { FoundFile, ReadContent } from "./file-source.js";
import { type FilesPipeline, type OpenPipeline, openPipeline } from "./files-pipeline.js";
import { type FilesRun, type FileToLand, isSame, type LandedBatch, landFiles } from "./land-files.js";
import { type FileOutcome, fileRecord, recordLanded } from "./landed-files.js";
import { type FilesReport, groupRemarks } from "./plan-files.js";

export interface WaitingFile {
  readonly file: FoundFile;
  readonly sha256: string;
  readonly state: "new" | "changed";
  /** The content, where it is still there from when it was hashed. */
  readonly content: ReadContent | undefined;
}

/** A file with the same content and meaning as another one. */
export interface CopiedFile {
  readonly file: FoundFile;
  readonly sha256: string;
  readonly of: string;
}

/** The files of a folder, by what a run has to do with them; each list in the order of their names. */
export interface SortedFiles {
  readonly waiting: readonly WaitingFile[];
  readonly copies: readonly CopiedFile[];
  readonly twins: readonly CopiedFile[];
  /** Names of files that have landed, and have not changed. */
  readonly unchanged: readonly string[];
  readonly unreadable: readonly { readonly file: FoundFile; readonly reason: string }[];
  readonly left: readonly string[];
}

/** Reads the files whose content is not known, and compares all with what had landed before. */
async function sortFiles(
  { files, source, landed, seen }: OpenPipeline,
  options: {
    readonly clock: Pick<Clock, "now">;
    readonly signal: AbortSignal;
    /** Most bytes of copies of contents that are kept for the landing. */
    readonly keptBytes: number;
  },
): Promise<SortedFiles> {
  const { clock, signal, keptBytes } = options;
  const waiting: WaitingFile[] = [];
  const [copies, twins]: [CopiedFile[], CopiedFile[]] = [[], []];
  const unreadable: { file: FoundFile; reason: string }[] = [];
  const [unchanged, left]: [string[], string[]] = [[], []];
  const firsts = new Map<string, string>();
  let kept = 0;
  for (const file of files) {
    signal.throwIfAborted();
    const { name } = file;
    const at = clock.now();
    let sha256 = seen.hashOf(file, at);
    let content: ReadContent | undefined;
    if (sha256 === undefined) {
      const read = await readUnchanged(source, file, signal).catch((error: unknown): string => {
        signal.throwIfAborted();
        return `cannot be read (${messageOf(error)})`;
      });
      if (typeof read === "string") unreadable.push({ file, reason: read });
      else if (read === undefined) left.push(name);
      if (typeof read !== "object") continue;
      content = read;
      sha256 = read.sha256;
      seen.note(file, sha256, at);
    }
    const state = landed.stateOf(name, sha256);
    const meaning = landed.meaningOf(name, sha256);
    const first = firsts.get(meaning);
    if (state === "landed") unchanged.push(name);
    else if (state === "copy") copies.push({ file, sha256, of: landed.twinOf(name, sha256) ?? "" });
    else if (state === "new" && first !== undefined) twins.push({ file, sha256, of: first });
    else {
      kept += file.size;
      waiting.push({ file, sha256, state, content: kept <= keptBytes ? content : undefined });
      firsts.set(meaning, name);
      if (kept <= keptBytes) content = undefined;
    }
    await content?.release();
  }
  return { waiting, copies, twins, unchanged, unreadable, left };
}

/** Reads a file. @returns undefined where it was changed, or went, in the meantime. */
async function readUnchanged(
  source: OpenPipeline["source"],
  file: FoundFile,
  signal: AbortSignal,
): Promise<ReadContent | undefined> {
  const content = await source.read(file.name, signal);
  if (content === undefined) return undefined;
  if (isSame(file, await source.find(file.name))) return content;
  await content.release();
  return undefined;
}

/** The signal ends the run before the next commit. */
export interface FilesEnvironment extends Pick<RunContext, "lake" | "clock" | "runId"> {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** Most files, and about the most bytes, of one commit: a run that was killed goes on after the last one. */
const BATCH_FILES = 2000;
const BATCH_BYTES = 256 * 1024 ** 2;

interface LeasedRun extends FilesRun, Pick<RunContext, "session" | "startedAt" | "startedTicks"> {
  readonly progress: RunProgress;
}

interface Done {
  listed: number;
  unchanged: number;
  bytes: number;
  readonly landed: FilesReport["landed"][number][];
  readonly copies: FilesReport["copies"][number][];
  readonly refused: FilesReport["refused"][number][];
  readonly left: string[];
  readonly remarks: string[];
  readonly tables: LandReport[];
  readonly rejected: RejectCount[];
}

/**
 * Runs a pipeline of files: lands those that are new or changed, in the order of their names, and names those that are
 * refused. A file lands once, also where a run is killed; a file that is changed while it is read is left to the next run.
 * Nothing is asked of a service. While another run lands files in the same table, it waits.
 *
 * @param options the caller's options, for the record of the run.
 * @throws {UsageError} where the folder or the plan cannot be read.
 */
export async function runFiles(
  pipeline: FilesPipeline,
  options: object,
  environment: FilesEnvironment,
): Promise<RunReport> {
  const { lake, clock, runId, onProgress } = environment;
  const signal = environment.signal ?? new AbortController().signal;
  const progress = new RunProgress(onProgress ?? (() => {}));
  const onWait = (holders: string): void => progress.doing(`waiting for ${holders}`);
  const subject = { ...runSubject(pipeline, {}), runId, options: jsonParameter(options) };
  const onEnded = (run: EndedRun): Promise<void> => recordEnded(lake, clock, run);
  const lease = await takeRun(lake, subject, { clock, signal, onWait, onEnded });
  try {
    using session = await Session.open({ ...writerSpillOptions(lake.work), ...lake.access });
    const times = { startedAt: clock.now(), startedTicks: ticksOf(clock) };
    using fence = await inOneLake(lake, runTables(pipeline), lease);
    const parts = { pipeline, lake, clock, runId, signal, session, progress, fence };
    return await runLeased({ ...parts, ...times }, options);
  } finally {
    // If the release fails, the lease remains until it expires.
    await lease.release().catch(() => {});
  }
}

async function runLeased(run: LeasedRun, options: object): Promise<RunReport> {
  const { lake, signal, progress } = run;
  const done: Done = {
    listed: 0,
    unchanged: 0,
    bytes: 0,
    landed: [],
    copies: [],
    refused: [],
    left: [],
    remarks: [],
    tables: [],
    rejected: [],
  };
  let failed: unknown;
  let changes: RunFacts["changes"] = [];
  try {
    await work(run, done);
  } catch (error) {
    if (error instanceof UsageError && done.landed.length === 0) throw error;
    if (!signal.aborted) failed = error;
  }
  const report = (): RunReport => filesReport(run, done, changes, failed);
  await recordRun(run, report(), options, "").catch((error: unknown) => {
    failed ??= error;
  });
  try {
    if (done.landed.length + done.refused.length > 0) {
      progress.doing("views");
      await publish(lake);
      changes = await changesOf(run, done.tables);
    }
  } catch (error) {
    failed ??= error;
  }
  if (failed !== undefined && !(failed instanceof Error && "hint" in failed)) throw failed;
  return report();
}

async function work(run: LeasedRun, done: Done): Promise<void> {
  const { pipeline, lake, clock, signal, session, progress } = run;
  progress.doing("listing");
  await using open = await openPipeline(pipeline, lake, session);
  done.listed = open.files.length;
  progress.doing("comparing");
  try {
    const sorted = await sortFiles(open, { clock, signal, keptBytes: BATCH_BYTES });
    progress.plan(pipeline.table, sorted.waiting.length);
    done.unchanged = sorted.unchanged.length;
    done.left.push(...sorted.left);
    // First of all: once a file is changed, only these records say that its former content has landed.
    await recordCopies(run, open, done, sorted.copies);
    await settle(run, open, done, sorted);
    for (const [index, batch] of batchesOf(sorted.waiting).entries()) {
      signal.throwIfAborted();
      await landBatch(run, open, done, { sorted, batch, part: index + 1 });
    }
    open.seen.keepOnly(open.files);
  } finally {
    await open.seen.save();
  }
}

/** Records copies of files that have landed, so that they do not land once the others are changed or gone. */
async function recordCopies(
  { pipeline, lake, clock, runId, fence }: LeasedRun,
  { landed }: OpenPipeline,
  done: Done,
  copies: SortedFiles["copies"],
): Promise<void> {
  if (copies.length === 0) return;
  const records = copies.flatMap(({ file, sha256 }) => landed.recordsOf(file.name, sha256));
  await recordLanded(lake, pipeline.table, records, { runId, now: clock.now(), fence });
  for (const { file, sha256, of } of copies) {
    landed.landed(file.name, sha256);
    done.copies.push({ file: file.name, of });
  }
}

/** Enters what became of the files that were refused before and are not read now, and those that cannot be read. */
async function settle(
  run: LeasedRun,
  { files, refused }: OpenPipeline,
  done: Done,
  { unreadable, unchanged, copies }: SortedFiles,
): Promise<void> {
  const outcomes = new Map<string, FileOutcome>();
  const names = new Set(files.map(({ name }) => name));
  for (const name of refused.keys())
    if (!names.has(name)) outcomes.set(name, { kind: "settled", why: "gone" });
  for (const name of [...unchanged, ...copies.map(({ file }) => file.name)])
    if (refused.has(name)) outcomes.set(name, { kind: "settled", why: "landed" });
  for (const { file, reason } of unreadable) {
    outcomes.set(file.name, { kind: "refused", size: file.size, reason });
    done.refused.push({ file: file.name, reason, isKnown: refused.has(file.name) });
  }
  await enter(run, outcomes);
}

async function landBatch(
  run: LeasedRun,
  open: OpenPipeline,
  done: Done,
  { sorted, batch, part }: { sorted: SortedFiles; batch: readonly WaitingFile[]; part: number },
): Promise<void> {
  const { pipeline, clock, signal, progress } = run;
  const began = ticksOf(clock);
  const read: FileToLand[] = [];
  try {
    for (const one of batch) {
      const content = one.content ?? (await readUnchanged(open.source, one.file, signal));
      if (content !== undefined && content.sha256 === one.sha256) read.push({ file: one.file, content });
      else done.left.push(one.file.name);
    }
    const onFile = (): void => progress.doing("reading");
    const result = await landFiles({ ...run, part, onFile }, open, read);
    await note(run, open, done, { sorted, batch, result, durationMs: ticksOf(clock) - began });
    for (const { file } of batch) progress.ended(pipeline.table, 0, file.size);
  } finally {
    for (const { content } of read) await content.release();
  }
}

async function note(
  run: LeasedRun,
  open: OpenPipeline,
  done: Done,
  {
    sorted,
    batch,
    result,
    durationMs,
  }: { sorted: SortedFiles; batch: readonly WaitingFile[]; result: LandedBatch; durationMs: number },
): Promise<void> {
  const outcomes = new Map<string, FileOutcome>();
  const reasons = new Map(result.refused.map(({ file, reason }) => [file.name, reason]));
  const refuse = (name: string, size: number, reason: string): void => {
    outcomes.set(name, { kind: "refused", size, reason });
    done.refused.push({ file: name, reason, isKnown: open.refused.has(name) });
  };
  for (const { file, reason } of result.refused) refuse(file.name, file.size, reason);
  done.left.push(...result.changed.map(({ file }) => file.name));
  // Of the rows of a commit it is not known which file had how many: the first file has them.
  const [own] = result.tables;
  let rows = own === undefined ? 0 : own.inserted + own.updated + own.unchanged;
  const states = new Map(batch.map(({ file, state }) => [file.name, state]));
  const landed = new Set<string>();
  for (const { file } of result.landed) {
    const spent = rows > 0 ? durationMs : 0;
    outcomes.set(file.name, { kind: "landed", size: file.size, rows, durationMs: spent });
    rows = 0;
    landed.add(file.name);
    done.landed.push({ file: file.name, state: states.get(file.name) ?? "new" });
    done.bytes += file.size;
  }
  done.tables.push(...result.tables);
  done.rejected.push(...result.rejected);
  done.remarks.push(...result.remarks);
  const names = new Set(batch.map(({ file }) => file.name));
  const twins = sorted.twins.filter(({ of }) => names.has(of));
  await recordCopies(
    run,
    open,
    done,
    twins.filter(({ of }) => landed.has(of)),
  );
  for (const { file, of } of twins) {
    const reason = reasons.get(of);
    if (reason !== undefined) refuse(file.name, file.size, reason);
    else if (!landed.has(of)) done.left.push(file.name);
    else if (open.refused.has(file.name)) outcomes.set(file.name, { kind: "settled", why: "landed" });
  }
  await enter(run, outcomes);
}

async function enter(run: LeasedRun, outcomes: ReadonlyMap<string, FileOutcome>): Promise<void> {
  const { pipeline, session, lake, clock, runId } = run;
  const of = { runId, pipeline: pipeline.name, dataset: pipeline.table, askedAt: clock.now() };
  const records = [...outcomes].map(([file, outcome]) => fileRecord(of, file, outcome));
  await landRequests(session, lake, records, landOptions(run));
}

function batchesOf(waiting: readonly WaitingFile[]): WaitingFile[][] {
  const batches: WaitingFile[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const one of waiting) {
    const last = batches.at(-1);
    bytes += one.file.size;
    if (last !== undefined && last.length < BATCH_FILES && bytes <= BATCH_BYTES) last.push(one);
    else {
      batches.push([one]);
      bytes = one.file.size;
    }
  }
  return batches;
}

function filesReport(run: LeasedRun, done: Done, changes: RunFacts["changes"], failed: unknown): RunReport {
  const { pipeline, signal, clock, runId, startedAt, startedTicks } = run;
  const { landed, refused, left, tables } = done;
  const own = tables.filter(({ table }) => table === pipeline.table);
  const facts: RunFacts = {
    ...new RunLog().facts(),
    requests: {
      sent: landed.length + refused.length,
      answered: landed.length,
      empty: 0,
      refused: refused.length,
      failed: 0,
    },
    rows: own.reduce((sum, one) => sum + one.inserted + one.updated + one.unchanged, 0),
    bytes: done.bytes,
    landed: tables,
    failures: refused.map(({ file, reason }) => ({
      dataset: pipeline.table,
      request: file,
      reason,
      symbols: 0,
    })),
    rejected: done.rejected,
    changes,
  };
  const context = {
    runId,
    pipeline: pipeline.name,
    signal,
    clock,
    clockAheadMs: undefined,
    startedAt,
    startedTicks,
  };
  const report = reportOf(context, facts, landed.length + refused.length + left.length, failed);
  return {
    ...report,
    // Where all files are refused, nothing is the matter with a service.
    status: report.status === "refused" ? "partial" : report.status,
    files: {
      from: pipeline.from,
      listed: done.listed,
      unchanged: done.unchanged,
      landed,
      copies: done.copies,
      refused,
      leftToNextRun: left,
      remarks: groupRemarks(done.remarks, pipeline.from),
    },
  };
}

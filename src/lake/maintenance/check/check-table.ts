import { BarlakeError, hintOf, messageOf } from "../../../core/errors.js";
import { groupBy } from "../../../core/group-by.js";
import type { SessionOptions } from "../../../db/session/open-database.js";
import { Session } from "../../../db/session/session.js";
import type { TableSchema } from "../../../schema/column.js";
import { hasVersions } from "../../../schema/reference.js";
import { contentHash } from "../../files/content-hash.js";
import { hashInName } from "../../files/data-file.js";
import { recordVerified } from "../../files/verify-content.js";
import type { Lake } from "../../lake.js";
import { forgetSymbols } from "../../local/symbols-file.js";
import type { DataFile, Snapshot } from "../../log/snapshot.js";
import { isStoreFault } from "../../storage/store-fault.js";
import { checkFiles, finder, unknownFiles } from "./check-files.js";
import { checkLog } from "./check-log.js";
import { checkKeys, checkRows, checkVersions, type ReadFile } from "./check-rows.js";
import { type Finding, RESTORE } from "./finding.js";

/** The session in which a check reads files. It is opened at the first use, and again after a damaged file. */
export class CheckSession implements Disposable {
  readonly #options: SessionOptions;
  #session: Session | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  async open(): Promise<Session> {
    if (this.#session?.isBroken) this.discard();
    this.#session ??= await Session.open(this.#options);
    return this.#session;
  }

  /** Closes the session: damaged bytes may have left its database in any state. */
  discard(): void {
    this.#session?.close();
    this.#session = undefined;
  }

  [Symbol.dispose](): void {
    this.discard();
  }
}

export interface CheckOptions {
  /** Reads every live file in full. @default false */
  readonly deep?: boolean;
  /** Epoch milliseconds. Where it is given, a deep check records it as the verification time of all sound files. */
  readonly now?: number;
  /** Stops the check, also while it hashes a file. */
  readonly signal?: AbortSignal;
  /** Called before each file is read. */
  readonly onProgress?: (progress: CheckProgress) => void;
  /** The session in which files are read, shared with the checks of other tables. @default a new session */
  readonly session?: CheckSession;
}

interface CheckProgress {
  readonly table: string;
  /** The next file, relative to the table. */
  readonly file: string;
  readonly done: number;
  readonly total: number;
  readonly rows: number;
  readonly bytes: number;
}

export interface TableCheck {
  readonly table: string;
  /** -1 where the table has no commit, or its log cannot be read. */
  readonly version: number;
  /** Number of live files, and their total size. */
  readonly files: number;
  readonly bytes: number;
  /** Rows that were read; 0 unless the check was deep. */
  readonly rows: number;
  readonly complete: boolean;
  readonly findings: readonly Finding[];
}

export class CheckFault extends BarlakeError {
  readonly found: TableCheck;

  constructor(found: TableCheck, cause: unknown) {
    super(`check of table ${found.table} ended early: ${messageOf(cause)}`, { hint: hintOf(cause), cause });
    this.found = found;
  }
}

/**
 * Checks how a table is stored: its log from the beginning, the files of its newest version against the log and, in a
 * deep check, every row of these files. It changes no table. Others may write at the same time: the check covers the
 * version that was newest when it began.
 *
 * @throws {CheckFault} where something cannot be read now, such as a file of a store that is not well.
 */
export async function checkTable(
  lake: Lake,
  table: TableSchema,
  options: CheckOptions = {},
): Promise<TableCheck> {
  const found: FoundSoFar = { findings: [], read: [], snapshot: undefined };
  try {
    const complete = await checkParts(lake, table, found, options);
    return tableCheck(table, found, complete);
  } catch (cause) {
    throw new CheckFault(tableCheck(table, found, false), cause);
  }
}

/** What the check of a table has found until now. */
interface FoundSoFar {
  readonly findings: Finding[];
  readonly read: ReadFile[];
  /** Undefined where the table cannot be read. */
  snapshot: Snapshot | undefined;
}

function tableCheck(
  { name }: TableSchema,
  { findings, read, snapshot }: FoundSoFar,
  complete: boolean,
): TableCheck {
  const rows = read.reduce((sum, { facts }) => sum + facts.rows, 0);
  if (snapshot === undefined || snapshot.version < 0)
    return { table: name, version: -1, files: 0, bytes: 0, rows, complete, findings };
  const bytes = [...snapshot.files.values()].reduce((sum, { size }) => sum + size, 0);
  return {
    table: name,
    version: snapshot.version,
    files: snapshot.files.size,
    bytes,
    rows,
    complete,
    findings,
  };
}

/** @returns whether all parts were checked: the signal did not abort. */
async function checkParts(
  lake: Lake,
  table: TableSchema,
  found: FoundSoFar,
  options: CheckOptions,
): Promise<boolean> {
  const { findings, read } = found;
  // Listed before the log is read, so that a file that is committed in between is a known file.
  const stored = await lake.storage.walk(table.name);
  const whole = await checkLog(lake.storage, table, findings);
  const snapshot = await newestOf(lake, table);
  found.snapshot = snapshot;
  if (snapshot === undefined || snapshot.version < 0) return true;
  const present = await checkFiles(lake, snapshot, stored, findings);
  if (whole !== undefined) findings.push(...unknownFiles(whole, stored));
  if (options.deep !== true) return true;
  using own = new CheckSession(lake.access);
  const session = options.session ?? own;
  await readFiles(session, lake, snapshot, present, found, options);
  if (options.now !== undefined) {
    const sound = read.map(({ file }) => file);
    await recordVerified(lake.storage, snapshot, sound, options.now).catch((error: unknown) =>
      findings.push(notRecorded(snapshot, error)),
    );
  }
  if (options.signal?.aborted) return false;
  await checkPartitions(session, lake, snapshot, found);
  return true;
}

/**
 * The finding for verification times that could not be recorded, for example because the lake is read-only. They are
 * for later checks: this check is complete without them.
 */
function notRecorded({ table, version }: Snapshot, error: unknown): Finding {
  return {
    severity: "info",
    table: table.name,
    version,
    rule: "verification_unrecorded",
    message: `${table.name}: it is not recorded when its files were verified: ${messageOf(error)}`,
    hint: "a later barlake check --scrub reads these files sooner than necessary; let the check write to the lake",
  };
}

/** The table as readers see it; undefined where its log is damaged, which the check of the log has reported. */
async function newestOf(lake: Lake, table: TableSchema): Promise<Snapshot | undefined> {
  try {
    return await lake.snapshot(table);
  } catch (error) {
    if (error instanceof BarlakeError && !isStoreFault(error)) return undefined;
    throw error;
  }
}

/** Reads files one after the other, and adds what is wrong, and the files that could be read, to what was found. */
async function readFiles(
  session: CheckSession,
  lake: Lake,
  snapshot: Snapshot,
  files: readonly DataFile[],
  { findings, read }: FoundSoFar,
  { signal, onProgress }: CheckOptions,
): Promise<void> {
  const { name } = snapshot.table;
  let [rows, bytes] = [0, 0];
  for (const [done, file] of files.entries()) {
    if (signal?.aborted) break;
    onProgress?.({ table: name, file: file.path, done, total: files.length, rows, bytes });
    const found: Finding[] = [];
    const facts = await readFile(await session.open(), lake, snapshot, file, { findings: found, signal });
    if (facts === undefined) session.discard();
    // A file that was replaced and vacuumed during the check is no finding.
    if (facts === undefined && !(await isLive(lake, snapshot, file))) continue;
    findings.push(...found);
    bytes += file.size;
    rows += facts?.rows ?? 0;
    if (facts !== undefined) read.push({ file, facts });
  }
}

async function readFile(
  session: Session,
  lake: Lake,
  snapshot: Snapshot,
  file: DataFile,
  { findings, signal }: { readonly findings: Finding[]; readonly signal: AbortSignal | undefined },
): Promise<ReadFile["facts"] | undefined> {
  const find = finder(snapshot, file, findings);
  try {
    const expected = hashInName(file.path);
    const hash = expected === undefined ? undefined : await hashOf(lake, snapshot, file, signal);
    // A file with the wrong hash is not read further. A store may have sent it in part: it is read once more.
    if (
      hash !== undefined &&
      hash !== expected &&
      (await hashOf(lake, snapshot, file, signal)) !== expected
    ) {
      await forgetSymbols(lake, snapshot.table);
      find(
        "file_content",
        `is not what was written: its hash is ${hash}, and its name says ${expected}`,
        RESTORE,
      );
      return undefined;
    }
    return await checkRows(session, snapshot, file, lake.urlOf(snapshot, file), find);
  } catch (error) {
    if (signal?.aborted) return undefined;
    // A store that is not well says nothing about the file.
    if (isStoreFault(error)) throw error;
    find("file_unreadable", `is not readable: ${messageOf(error).split("\n")[0]}`, RESTORE);
    return undefined;
  }
}

/** The hash of a file's content; undefined where it is missing. */
async function hashOf(
  lake: Lake,
  snapshot: Snapshot,
  file: DataFile,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const pieces = await lake.read(snapshot, file);
  return pieces && (await contentHash(pieces, signal)).hash;
}

async function isLive(lake: Lake, { table }: Snapshot, { path }: DataFile): Promise<boolean> {
  return (await newestOf(lake, table))?.files.has(path) ?? true;
}

async function checkPartitions(
  session: CheckSession,
  lake: Lake,
  snapshot: Snapshot,
  { findings, read }: FoundSoFar,
): Promise<void> {
  const partitions = groupBy(read, ({ file }) =>
    snapshot.table.partition.map((name) => file.partitionValues[name]).join("/"),
  );
  for (const files of partitions.values())
    findings.push(...(await checkKeys(await session.open(), lake, snapshot, files)));
  if (hasVersions(snapshot.table))
    findings.push(...(await checkVersions(await session.open(), lake, snapshot, read)));
}

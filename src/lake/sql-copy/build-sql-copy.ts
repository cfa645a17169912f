import { chmodSync, constants, existsSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { ident, literal } from "../../db/quote.js";
import { interruptOn, type Session } from "../../db/session/session.js";
import { verifyContent } from "../files/verify-content.js";
import type { Lake } from "../lake.js";
import { viewsKey } from "../lake-views.js";
import { openReader } from "../open-reader.js";
import { IN_USE_MS, type SegmentPlace, segmentFolder } from "../segments/segment-folder.js";
import { hasColumnsOfSchema } from "../viewed-table.js";
import { type AttachedCopy, expectSame, giveUpCopies, otherCopies, writtenAt } from "./attach-sql-copy.js";
import { writeDailyBars } from "./copied-bars.js";
import { maxMinuteBytes } from "./copied-months.js";
import { COPIED_VIEWS, COPIES, type CopyKind, type SqlCopyFile, sqlCopyFiles } from "./sql-copy.js";
import { olderMinutes, writeMinutes } from "./write-minutes.js";

/** Bytes of a block of a copy. Columns of a few bits a row waste a third of DuckDB's blocks, which have four times as many. */
export const BLOCK_BYTES = 65_536;
/** What DuckDB may use before it spills to disk. Minutes are read month by month: more would only be a cache of what is written. */
const MEMORY: Readonly<Record<CopyKind, string>> = { days: "1GB", minutes: "512MB" };

/**
 * Builds a copy for SQL of the newest state of a lake, if it does not exist. Its rows are read through the views, from
 * verified files; months of minutes whose files are the same as in an older copy are read from that.
 *
 * @param signal stops the work; the unfinished copy is then deleted.
 * @throws what reading the lake or writing the file throws.
 */
export async function buildSqlCopy(
  lake: Lake,
  place: SegmentPlace,
  kind: CopyKind,
  signal: AbortSignal,
): Promise<void> {
  // What was taken from a damaged copy is read again, from the files.
  while (!(await buildOnce(lake, place, kind, signal))) signal.throwIfAborted();
}

/** @returns false where an older copy was deleted: the copy has to be built without it. */
async function buildOnce(
  lake: Lake,
  place: SegmentPlace,
  kind: CopyKind,
  signal: AbortSignal,
): Promise<boolean> {
  using reader = await openReader(lake, { threads: 1, memoryLimit: MEMORY[kind], verify: false });
  const { session, snapshots } = reader;
  const files = sqlCopyFiles(snapshots, place, viewsKey(), lake.clock.now());
  const copy = files.find((file) => file.kind === kind);
  if (copy === undefined || existsSync(copy.path)) return true;
  const folder = segmentFolder(place, lake.clock);
  using older =
    kind === "minutes"
      ? await olderMinutes(session, copy, otherCopies(copy), maxMinuteBytes(place))
      : undefined;
  if (!(await folder.freeSpaceFor(older?.nextBytes ?? copy.bytes))) return true;
  if (older !== undefined && !existsSync(older.file.path)) return false;
  using _ = interruptOn(session, signal);
  try {
    await folder.add(copy.path, (target) => writeCopy(lake, session, { copy, older, target, signal }));
  } catch (error) {
    if (older === undefined) throw error;
    // Another process may have deleted it.
    const isGone = !existsSync(older.file.path);
    if (isGone || giveUpCopies([older], error).length > 0) return false;
    throw error;
  }
  for (const path of outdated(copy, lake.clock.now())) folder.remove(path);
  return true;
}

interface CopyWrite {
  readonly copy: SqlCopyFile;
  readonly older: AttachedCopy | undefined;
  readonly target: string;
  readonly signal: AbortSignal;
}

async function writeCopy(
  lake: Lake,
  session: Session,
  { copy, older, target, signal }: CopyWrite,
): Promise<void> {
  const { database } = COPIES[copy.kind];
  // Only the builder makes checkpoints: each one leaves free blocks in the file.
  await session.run("SET checkpoint_threshold = '1TB'");
  if (older !== undefined) {
    await copyFile(older.file.path, target, constants.COPYFILE_FICLONE);
    expectSame([older]);
  }
  const options = `STORAGE_VERSION 'latest', BLOCK_SIZE ${BLOCK_BYTES}`;
  await session.run(`ATTACH ${literal(target)} AS ${database} (${options})`);
  const hasOddDays =
    copy.kind === "minutes"
      ? await writeMinutes(lake, session, copy, { isOlder: older !== undefined, signal })
      : await writeDays(lake, session, copy, signal);
  await session.run(
    `CREATE OR REPLACE TABLE ${database}.made AS SELECT ${literal(copy.key)} AS key, ${hasOddDays} AS has_odd_days`,
  );
  await session.run(`DETACH ${database}`);
  // The lake may be readable by its user only, so its copies are, too.
  chmodSync(target, 0o600);
}

/** Writes daily bars, and what follows from them and from statements. @returns false: a copy of days has no minutes. */
async function writeDays(
  lake: Lake,
  session: Session,
  { bars, sources }: SqlCopyFile,
  signal: AbortSignal,
): Promise<false> {
  // Files are verified even if this process did so before: they may be damaged since, and a copy would preserve the
  // damage.
  for (const { snapshot, files } of sources) {
    await verifyContent(lake, snapshot, files, signal);
  }
  const { database } = COPIES.days;
  for (const { schema, name: view, order } of COPIED_VIEWS)
    await session.run(
      `CREATE TABLE ${database}.${ident(view)} AS FROM ${schema}.${ident(view)} ORDER BY ${order}`,
    );
  await writeDailyBars(session, hasColumnsOfSchema(bars.snapshot));
  return false;
}

/** The paths of copies of the same kind, of other states of the lake, that were built a while ago. */
function outdated(copy: SqlCopyFile, now: number): string[] {
  return otherCopies(copy).filter((path) => writtenAt(path) < now - IN_USE_MS);
}

export class SqlCopyBuilder implements AsyncDisposable {
  readonly #lake: Lake;
  readonly #place: SegmentPlace;
  readonly #onBuilt: () => void;
  readonly #stop = new AbortController();
  /** Copies that were missed once, or that this process has tried to build, by path. */
  readonly #missed = new Map<string, "once" | "ordered">();
  #building: Promise<void> | undefined;

  /** @param onBuilt called when a copy may have become available. */
  constructor(lake: Lake, place: SegmentPlace, onBuilt: () => void) {
    this.#lake = lake;
    this.#place = place;
    this.#onBuilt = onBuilt;
  }

  /**
   * Records that a query could have used a copy. The second such query starts its build: a program with one query needs
   * none.
   */
  note({ path, kind }: SqlCopyFile): void {
    const known = this.#missed.get(path);
    if (known === undefined) this.#missed.set(path, "once");
    else if (known === "once" && this.#building === undefined) {
      this.#missed.set(path, "ordered");
      // The next query reads the data files. If these are damaged, that query reports it.
      this.#start(kind).catch(() => {});
    }
  }

  /** Builds a copy of the newest state, and waits until it is finished. */
  async build(kind: CopyKind): Promise<void> {
    await this.#building?.catch(() => {});
    await this.#start(kind);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#building?.catch(() => {});
  }

  #start(kind: CopyKind): Promise<void> {
    if (this.#stop.signal.aborted) return Promise.resolve();
    this.#building = buildSqlCopy(this.#lake, this.#place, kind, this.#stop.signal)
      .then(this.#onBuilt)
      .finally(() => {
        this.#building = undefined;
      });
    return this.#building;
  }
}

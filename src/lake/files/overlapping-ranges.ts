import { ident, literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { TempTable } from "../../db/session/temp-table.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { Lake } from "../lake.js";
import type { StagedRows } from "../land/staged-rows.js";
import type { DataFile, Snapshot } from "../log/snapshot.js";
import { verifyContent } from "./verify/verify-content.js";

/**
 * The live files whose rows must be compared with staged rows; they are verified. The range of a whole file spans all
 * its symbols, so it also overlaps rows that share no key with it: those of a new symbol between them, or of the next
 * days. This function therefore compares the ranges of each symbol.
 *
 * A session reads the ranges of a file once, right after it has verified the file: a data file never changes. Each of
 * many landings in a partition therefore reads only the files that are new to its session.
 *
 * @param live the files whose whole ranges overlap the staged rows.
 * @returns all of `live` for tables whose key does not have exactly two columns: a subject, and its position in an
 *   order.
 * @throws {LakeError} for a file that is damaged.
 */
export async function filesToCompare(
  session: Session,
  lake: Lake,
  base: Snapshot,
  live: readonly DataFile[],
  staged: StagedRows,
): Promise<readonly DataFile[]> {
  if (live.length === 0) return live;
  if (base.table.key.length !== 2) {
    await verifyContent(lake, base, live);
    return live;
  }
  return rangesOf(session, base).overlapping(lake, base, live, staged);
}

/** Most ranges that a session stores for one table, at about 40 bytes each. If there are more, all are read again. */
const MOST_RANGES = 2_000_000;

/** The ranges that each session has read, by table. */
const RANGES = new WeakMap<Session, Map<string, FileRanges>>();

function rangesOf(session: Session, { table: { name } }: Snapshot): FileRanges {
  const tables = RANGES.get(session) ?? new Map<string, FileRanges>();
  RANGES.set(session, tables);
  const ranges = tables.get(name) ?? new FileRanges(session);
  tables.set(name, ranges);
  return ranges;
}

/** The range of each subject in each file of a table. A class because it owns the temporary table that stores them. */
class FileRanges {
  readonly #session: Session;
  readonly #stored: TempTable;
  /** The number that identifies a file in the temporary table, for each file whose ranges are stored. */
  readonly #numbers = new Map<DataFile, number>();
  #lastNumber = 0;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(session: Session) {
    this.#session = session;
    this.#stored = new TempTable(session, "file_ranges");
  }

  /** As {@link filesToCompare}. Calls run one at a time, because they share the temporary table. */
  overlapping(
    lake: Lake,
    base: Snapshot,
    live: readonly DataFile[],
    staged: StagedRows,
  ): Promise<readonly DataFile[]> {
    const found = this.#turn.then(() => this.#overlapping(lake, base, live, staged));
    this.#turn = found.catch(() => {});
    return found;
  }

  async #overlapping(
    lake: Lake,
    base: Snapshot,
    live: readonly DataFile[],
    staged: StagedRows,
  ): Promise<readonly DataFile[]> {
    const unread = live.filter((file) => !this.#numbers.has(file));
    await verifyContent(lake, base, unread);
    if (unread.length > 0) await this.#read(lake, base, unread);
    const [subject, place] = base.table.key.map(ident);
    const rows = await this.#session.json<{ file: number }>(
      `SELECT DISTINCT l.file
       FROM (SELECT ${subject} AS subject, min(${place}) AS least, max(${place}) AS greatest FROM ${staged.bounds} GROUP BY ALL) s
       JOIN ${this.#stored.name} l
       ON s.subject = l.subject AND s.least <= l.greatest AND s.greatest >= l.least`,
    );
    const overlapping = new Set(rows.map(({ file }) => file));
    const files = live.filter((file) => overlapping.has(this.#numbers.get(file) as number));
    const isNew = new Set(unread);
    await verifyContent(
      lake,
      base,
      files.filter((file) => !isNew.has(file)),
    );
    await this.#forgetTooMany();
    return files;
  }

  async #read(lake: Lake, base: Snapshot, files: readonly DataFile[]): Promise<void> {
    const numbers = new Map(files.map((file) => [file, ++this.#lastNumber]));
    const [subject, place] = base.table.key.map(ident);
    const rows = await parquetRelation(this.#session, lake.filesOf(base, files), { withFile: true });
    const urls = files.map((file) => `(${literal(lake.urlOf(base, file))}, ${numbers.get(file)})`);
    const unknown = "CAST(error('no range may belong to ' || r.live_file) AS INTEGER)";
    const ranges = `SELECT coalesce(n.file, ${unknown}) AS file, r.* EXCLUDE (live_file)
      FROM (SELECT live_file, ${subject} AS subject, min(${place}) AS least, max(${place}) AS greatest
        FROM (${rows}) GROUP BY ALL) r
      LEFT JOIN (VALUES ${urls.join(", ")}) n(url, file) ON n.url = r.live_file`;
    if (this.#numbers.size === 0) await this.#stored.fill(ranges);
    else await this.#session.run(`INSERT INTO ${this.#stored.name} ${ranges}`);
    for (const [file, number] of numbers) this.#numbers.set(file, number);
  }

  async #forgetTooMany(): Promise<void> {
    const [found] = await this.#session.json<{ n: bigint }>(`SELECT count(*) AS n FROM ${this.#stored.name}`);
    if (Number(found?.n) <= MOST_RANGES) return;
    this.#numbers.clear();
    await this.#stored.drop();
  }
}

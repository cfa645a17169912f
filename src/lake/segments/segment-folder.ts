import { randomUUID } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import { mkdir, rename, utimes } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Clock } from "../../core/time.js";
import { syncFolder } from "../local/durable-file.js";
import { filesUnder } from "../local/local-files.js";
import type { DataFile, Snapshot } from "../log/snapshot.js";

/** Where segments are, and how much space they may take. */
export interface SegmentPlace {
  /** The folder of the segments of all lakes of this user. */
  readonly root: string;
  /** The folder of the segments of this lake, within the root. */
  readonly folder: string;
  /** Most bytes of all segments and copies in the root. @default 4 GiB */
  readonly maxBytes?: number | undefined;
  /** Least number of bars for which a copy for SQL is built, of daily bars and of minutes. @default 200,000 */
  readonly copyFrom?: number | undefined;
}

const DEFAULT_BYTES = 4 * 2 ** 30;
/**
 * A segment that was opened within this time is not deleted: otherwise two alternating reads would each delete what the
 * other needs.
 */
export const IN_USE_MS = 3_600_000;
/** An unfinished file that is older than this, in milliseconds, was left by a killed process. */
const WRITING_MS = 3_600_000;
const UNFINISHED = ".partial";
/**
 * Paths of own files in the root: the folder of a lake; then, for a segment, the folder of a table and the name of a
 * data file of this program; for a copy for SQL, its hash. While DuckDB writes a copy, its log is next to it.
 */
const OWN_PATH =
  /^[^/]+-[0-9a-f]{12}\/(bars_1[dm]\/[pc]-[0-9a-f]{16}-[0-9a-f]{8}\.bars|sql(-minutes)?\/[0-9a-f]{32}\.duckdb)(\.[0-9a-f-]{36}\.partial(\.wal)?)?$/;

/**
 * Finished segments, one file each. Processes share the folder without locks: a segment gets its name when it is
 * complete, and processes that write the same segment write the same content.
 */
export interface SegmentFolder {
  pathOf(snapshot: Snapshot, file: DataFile): string;
  has(path: string): boolean;
  /**
   * Frees space for this number of bytes: deletes the segments that were not opened for the longest time.
   *
   * @returns false where there is not enough space unless segments in use are deleted.
   */
  freeSpaceFor(bytes: number): Promise<boolean>;
  /**
   * Runs `write` with the path of a new file, and then gives the file the name `path`, durably. `write` must make the
   * content durable.
   */
  add(path: string, write: (unfinished: string) => Promise<void>): Promise<void>;
  noteUse(path: string): Promise<void>;
  /** Deletes a segment, if it exists and this process has the permission. */
  remove(path: string): void;
}

/** Most bytes of all segments and copies at a place. */
export function maxBytesOf({ maxBytes = DEFAULT_BYTES }: SegmentPlace): number {
  return maxBytes;
}

/** The folder of segments at a place. @param clock the time with which the times of uses are compared. */
export function segmentFolder(place: SegmentPlace, clock: Pick<Clock, "now">): SegmentFolder {
  const { root, folder } = place;
  const maxBytes = maxBytesOf(place);
  const paths = new WeakMap<DataFile, string>();
  const remove = (path: string): void => {
    try {
      rmSync(path, { force: true });
    } catch {
      // The folder may belong to another user, or the disk may be read-only: such files are neither used nor deleted.
    }
  };
  return {
    // Paths can be cached, as the name of a data file is never used again: it has the hash of its content, and random
    // letters.
    pathOf({ table }, file) {
      const known = paths.get(file);
      if (known !== undefined) return known;
      const path = join(folder, table.name, `${basename(file.path, ".parquet")}.bars`);
      paths.set(file, path);
      return path;
    },
    has: existsSync,
    async freeSpaceFor(bytes) {
      if (bytes > maxBytes) return false;
      const now = clock.now();
      // The user may name a folder that has other files: they are neither counted nor deleted.
      const own = (await filesUnder(root)).filter(({ path }) => OWN_PATH.test(path));
      const files = own.sort((a, b) => a.modifiedAt - b.modifiedAt);
      let total = bytes + files.reduce((sum, { size }) => sum + size, 0);
      for (const { path, size, modifiedAt } of files) {
        const isUnfinished = path.includes(UNFINISHED);
        const isLeft = isUnfinished && modifiedAt < now - WRITING_MS;
        const isUnused = !isUnfinished && modifiedAt < now - IN_USE_MS;
        if (!isLeft && (total <= maxBytes || !isUnused)) continue;
        remove(join(root, path));
        total -= size;
      }
      return total <= maxBytes;
    },
    async add(path, write) {
      // The lake may be readable by its user only, so the folder of its segments is, too.
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const unfinished = `${path}.${randomUUID()}${UNFINISHED}`;
      try {
        await write(unfinished);
        await rename(unfinished, path);
        await syncFolder(dirname(path));
      } finally {
        remove(unfinished);
        // Of a copy that DuckDB was writing.
        remove(`${unfinished}.wal`);
      }
    },
    async noteUse(path) {
      const now = clock.now() / 1000;
      await utimes(path, now, now).catch(() => {});
    },
    remove,
  };
}

import { versionsOf } from "../../lake/by-version.js";
import { type DataFile, isReadOn, type Snapshot } from "../../lake/log/snapshot.js";

/** Most versions, and most changed files in all of them, that are remembered. */
const MOST_VERSIONS = 100;
const MOST_FILES = 10_000;

/** How the files of a later version differ from those of an earlier one. */
export interface FileChanges {
  readonly added: readonly DataFile[];
  readonly removed: readonly DataFile[];
}

const NO_CHANGES: FileChanges = { added: [], removed: [] };

export class FileHistory {
  #newest: Snapshot | undefined;
  /** The changes of each version, by the text of the version before it, oldest first. */
  readonly #steps = new Map<string, FileChanges>();
  #files = 0;
  /** The total changes from earlier versions to the newest one, by the text of the earlier version. */
  readonly #sums = new Map<string, FileChanges | undefined>();

  /** Records a version that was read. Versions that are not the newest are ignored. */
  note(snapshot: Snapshot): void {
    const before = this.#newest;
    const isContinued = before !== undefined && isReadOn(before, snapshot);
    if (isContinued && snapshot.version <= before.version) return;
    this.#newest = snapshot;
    this.#sums.clear();
    if (!isContinued) {
      this.#steps.clear();
      this.#files = 0;
      return;
    }
    if (versionsOf([before]) === versionsOf([snapshot])) return;
    const step = changesBetween(before, snapshot);
    this.#steps.set(versionsOf([before]), step);
    this.#files += sizeOf(step);
    for (const [oldest, { added, removed }] of this.#steps) {
      if (this.#steps.size <= MOST_VERSIONS && this.#files <= MOST_FILES) break;
      this.#steps.delete(oldest);
      this.#files -= added.length + removed.length;
    }
  }

  /**
   * The changes from an earlier version to a later one; undefined where they are not known, because the earlier version
   * is too old or the later one is not the newest recorded version.
   *
   * @param earlier the text of the version, see {@link versionsOf}.
   */
  since(earlier: string, later: Snapshot): FileChanges | undefined {
    if (this.#newest === undefined || versionsOf([this.#newest]) !== versionsOf([later])) return undefined;
    if (earlier === versionsOf([later])) return NO_CHANGES;
    if (!this.#sums.has(earlier)) this.#sums.set(earlier, this.#sumFrom(earlier, later));
    return this.#sums.get(earlier);
  }

  #sumFrom(earlier: string, { files }: Snapshot): FileChanges | undefined {
    const versions = [...this.#steps.keys()];
    const first = versions.indexOf(earlier);
    if (first < 0) return undefined;
    const sum = sumOf(versions.slice(first).map((one) => this.#steps.get(one) as FileChanges));
    // A compaction, which changes no rows, may have replaced an added file.
    return sum.added.every(({ path }) => files.has(path)) ? sum : undefined;
  }
}

function changesBetween({ files: before }: Snapshot, { files: after }: Snapshot): FileChanges {
  const added = [...after.values()].filter(({ path }) => !before.has(path));
  const removed = [...before.values()].filter(({ path }) => !after.has(path));
  return { added, removed };
}

/** The sum of changes. A file that was added and later removed is in neither list. */
function sumOf(steps: readonly FileChanges[]): FileChanges {
  const added = new Map<string, DataFile>();
  const removed = new Map<string, DataFile>();
  for (const step of steps) {
    for (const file of step.removed) if (!added.delete(file.path)) removed.set(file.path, file);
    for (const file of step.added) added.set(file.path, file);
  }
  return { added: [...added.values()], removed: [...removed.values()] };
}

function sizeOf({ added, removed }: FileChanges): number {
  return added.length + removed.length;
}

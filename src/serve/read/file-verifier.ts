import { stat } from "node:fs/promises";
import { LakeError, messageOf } from "../../core/errors.js";
import { damageOf, type FileDamage } from "../../lake/files/verify-content.js";
import type { Lake } from "../../lake/lake.js";
import type { DataFile, Snapshot } from "../../lake/log/snapshot.js";

/** A damaged file, and what it looked like when it was read. */
interface DamagedFile {
  readonly error: LakeError;
  readonly stamp: string;
}

/**
 * Compares the files that requests read with the hashes in their names: each once, in the background, right after it was
 * first read, so that no request waits for it. A file that turns out to be damaged is reported, and requests that need it
 * fail from then on, until it is put back. A class because of what it knows.
 */
export class FileVerifier {
  readonly #lake: Lake;
  readonly #onDamage: (error: LakeError) => void;
  /** Files that were seen, as objects: a table's files are the same ones at each request. */
  readonly #seen = new WeakSet<DataFile>();
  /** Paths of files that were verified, or wait for it. */
  readonly #known = new Set<string>();
  readonly #damaged = new Map<string, DamagedFile>();
  readonly #waiting: { readonly snapshot: Snapshot; readonly file: DataFile }[] = [];
  #work: Promise<void> | undefined;

  /** @param onDamage is called once for each file that is damaged. */
  constructor(lake: Lake, onDamage: (error: LakeError) => void) {
    this.#lake = lake;
    this.#onDamage = onDamage;
  }

  /**
   * Takes note of files that a request is about to read.
   *
   * @throws {LakeError} for one that is known to be damaged and has not been put back.
   */
  async note(snapshot: Snapshot, files: readonly DataFile[]): Promise<void> {
    for (const file of files) {
      if (this.#seen.has(file)) continue;
      this.#seen.add(file);
      const path = pathOf(snapshot, file);
      if (this.#known.has(path)) continue;
      this.#known.add(path);
      this.#waiting.push({ snapshot, file });
    }
    if (this.#waiting.length > 0) this.#work ??= this.#verifyAll();
    if (this.#damaged.size === 0) return;
    for (const file of files) {
      const known = this.#damaged.get(pathOf(snapshot, file));
      if (known !== undefined && !(await this.#isPutBack(snapshot, file, known))) throw known.error;
    }
  }

  /** Leaves what has not begun, and waits for the file that is being read. */
  async close(): Promise<void> {
    this.#waiting.length = 0;
    await this.#work;
  }

  async #verifyAll(): Promise<void> {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const { snapshot, file } = next;
      const stamp = await this.#stampOf(snapshot, file);
      const damage = await damageOf(this.#lake, snapshot, file).catch(unreadable);
      if (damage?.kind === "damaged") this.#found(snapshot, file, damage, stamp);
      else if (damage !== undefined) {
        // What is missing is found by the request that reads it; it is verified once it is put back.
        this.#seen.delete(file);
        this.#known.delete(pathOf(snapshot, file));
      }
    }
    this.#work = undefined;
  }

  #found(snapshot: Snapshot, file: DataFile, { what }: FileDamage, stamp: string): void {
    const hint = "restore it from a backup, or run barlake repair";
    const error = new LakeError(`table ${snapshot.table.name}: ${file.path} ${what}`, { hint });
    this.#damaged.set(pathOf(snapshot, file), { error, stamp });
    this.#onDamage(error);
  }

  /** Whether a damaged file is another one now, and sound. */
  async #isPutBack(snapshot: Snapshot, file: DataFile, known: DamagedFile): Promise<boolean> {
    const stamp = await this.#stampOf(snapshot, file);
    if (stamp === known.stamp) return false;
    if ((await damageOf(this.#lake, snapshot, file)) !== undefined) return false;
    this.#damaged.delete(pathOf(snapshot, file));
    return true;
  }

  /** Changes whenever a file does. */
  async #stampOf(snapshot: Snapshot, file: DataFile): Promise<string> {
    // A log of another program can name a file by a path that leads nowhere on this machine.
    const found = await Promise.resolve()
      .then(() => stat(this.#lake.urlOf(snapshot, file)))
      .catch(() => undefined);
    return found === undefined ? "" : `${found.ino} ${found.size} ${found.mtimeMs} ${found.ctimeMs}`;
  }
}

function unreadable(cause: unknown): FileDamage {
  return { kind: "unreadable", what: `is not readable: ${messageOf(cause)}`, cause };
}

function pathOf({ table }: Snapshot, { path }: DataFile): string {
  return `${table.name}/${path}`;
}

import { LakeError } from "../core/errors.js";
import type { Lake } from "../lake/lake.js";
import type { DataFile, Snapshot } from "../lake/snapshot.js";
import { damageOf, type FileDamage } from "../lake/verify-content.js";

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
  /** Paths of files that are sound or waiting. */
  readonly #known = new Set<string>();
  readonly #damaged = new Map<string, LakeError>();
  readonly #waiting: { readonly snapshot: Snapshot; readonly file: DataFile }[] = [];
  #work: Promise<void> | undefined;

  /** @param onDamage is called once for each file that is damaged. */
  constructor(lake: Lake, onDamage: (error: LakeError) => void) {
    this.#lake = lake;
    this.#onDamage = onDamage;
  }

  /** Takes note of files that a request is about to read. @throws {LakeError} for one that is known to be damaged. */
  note(snapshot: Snapshot, files: Iterable<DataFile>): void {
    let fault: LakeError | undefined;
    for (const file of files) {
      if (this.#damaged.size === 0 && this.#seen.has(file)) continue;
      this.#seen.add(file);
      const path = `${snapshot.table.name}/${file.path}`;
      fault ??= this.#damaged.get(path);
      // A damaged file may have been put back: it is read again.
      if (this.#known.has(path)) continue;
      this.#known.add(path);
      this.#waiting.push({ snapshot, file });
    }
    if (this.#waiting.length > 0) this.#work ??= this.#verifyAll();
    if (fault !== undefined) throw fault;
  }

  /** Leaves what has not begun, and waits for the file that is being read. */
  async close(): Promise<void> {
    this.#waiting.length = 0;
    await this.#work;
  }

  async #verifyAll(): Promise<void> {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const { snapshot, file } = next;
      const path = `${snapshot.table.name}/${file.path}`;
      const damage = await damageOf(this.#lake, snapshot, file);
      if (damage?.kind === "damaged") this.#found(snapshot, file, damage);
      else this.#damaged.delete(path);
      // What is missing is found by the request that reads it; either kind may be put back.
      if (damage !== undefined) this.#known.delete(path);
    }
    this.#work = undefined;
  }

  #found({ table }: Snapshot, file: DataFile, { what }: FileDamage): void {
    const path = `${table.name}/${file.path}`;
    const hint = "restore it from a backup, or run barlake repair";
    const error = new LakeError(`table ${table.name}: ${file.path} ${what}`, { hint });
    const isNew = !this.#damaged.has(path);
    this.#damaged.set(path, error);
    if (isNew) this.#onDamage(error);
  }
}

import { LakeError, messageOf } from "../../core/errors.js";
import { damageOf, type FileDamage } from "../../lake/files/verify-content.js";
import type { Lake } from "../../lake/lake.js";
import type { DataFile, Snapshot } from "../../lake/log/snapshot.js";

/** A damaged file, and its stamp when it was read. */
interface DamagedFile {
  readonly error: LakeError;
  readonly stamp: string;
}

/**
 * Compares the files that requests read with the hashes in their names: each file once, in the background, after it
 * was first read, so that no request waits for it. A damaged file is reported, and later requests that need it fail
 * until it is restored.
 */
export class FileVerifier {
  readonly #lake: Lake;
  readonly #onDamage: (error: LakeError) => void;
  /** Files that were seen, as objects: a table's snapshots share the objects of their files. */
  readonly #seen = new WeakSet<DataFile>();
  /** Paths of files that were verified, or are waiting to be. */
  readonly #known = new Set<string>();
  readonly #damaged = new Map<string, DamagedFile>();
  readonly #waiting: { readonly snapshot: Snapshot; readonly file: DataFile }[] = [];
  #work: Promise<void> | undefined;

  /** @param onDamage called once for each damaged file. */
  constructor(lake: Lake, onDamage: (error: LakeError) => void) {
    this.#lake = lake;
    this.#onDamage = onDamage;
  }

  /**
   * Schedules the verification of files that a request is about to read.
   *
   * @throws {LakeError} for a file that is known to be damaged and was not restored.
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

  /** Cancels what has not started, and waits for the file that is being read. */
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
        // A missing file makes the request that reads it fail; it is verified once it is restored.
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

  /** Whether a damaged file was replaced by an undamaged one. */
  async #isPutBack(snapshot: Snapshot, file: DataFile, known: DamagedFile): Promise<boolean> {
    const stamp = await this.#stampOf(snapshot, file);
    if (stamp === known.stamp) return false;
    if ((await damageOf(this.#lake, snapshot, file)) !== undefined) return false;
    this.#damaged.delete(pathOf(snapshot, file));
    return true;
  }

  /** A text that changes whenever the file does. */
  async #stampOf(snapshot: Snapshot, file: DataFile): Promise<string> {
    // The log of another program can name a file by a path that does not exist on this machine.
    const found = await this.#lake.factsOf(snapshot, file).catch(() => undefined);
    return found?.tag ?? "";
  }
}

function unreadable(cause: unknown): FileDamage {
  return { kind: "unreadable", what: `is not readable: ${messageOf(cause)}`, cause };
}

function pathOf({ table }: Snapshot, { path }: DataFile): string {
  return `${table.name}/${path}`;
}

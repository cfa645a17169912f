import { LakeError } from "../../core/errors.js";
import {
  damageError,
  damageOf,
  damageSinceVerified,
  type FileDamage,
  unreadable,
} from "../../lake/files/verify/verify-content.js";
import type { Lake } from "../../lake/lake.js";
import type { DataFile, Snapshot } from "../../lake/log/snapshot.js";

/** A damaged file: the error, and the file's stamp when it was read. */
interface DamagedFile {
  readonly error: LakeError;
  readonly stamp: string;
}

/**
 * Compares the files that requests read with the hashes in their names. Each file is verified once, before its first
 * read, so that no response has rows of a damaged file. A damaged file is reported, and requests that need it fail
 * until it is restored.
 */
export class FileVerifier {
  readonly #lake: Lake;
  readonly #onDamage: (error: LakeError) => void;
  /** Verified files, by object: the snapshots of a table share the objects of their files. */
  readonly #seen = new WeakSet<DataFile>();
  /** Verifications by path, in progress or finished. Requests for the same file share them. */
  readonly #known = new Map<string, Promise<void>>();
  readonly #damaged = new Map<string, DamagedFile>();
  #isClosed = false;

  /** @param onDamage called once for each damaged file. */
  constructor(lake: Lake, onDamage: (error: LakeError) => void) {
    this.#lake = lake;
    this.#onDamage = onDamage;
  }

  /**
   * Verifies files that a request is about to read, one after another.
   *
   * @param signal ends this before the next file that is not verified yet.
   * @throws {LakeError} for a file that is damaged and was not restored, or that cannot be read now. The next request
   *   verifies such a file again.
   */
  async verify(snapshot: Snapshot, files: readonly DataFile[], signal?: AbortSignal): Promise<void> {
    for (const file of files) {
      if (this.#seen.has(file)) continue;
      signal?.throwIfAborted();
      const path = pathOf(snapshot, file);
      let verifying = this.#known.get(path);
      if (verifying === undefined) {
        if (this.#isClosed) throw new LakeError(`table ${snapshot.table.name}: the service is closing`);
        verifying = this.#verifyOne(snapshot, file);
        this.#known.set(path, verifying);
      }
      await verifying;
    }
    if (this.#damaged.size === 0) return;
    for (const file of files) {
      const known = this.#damaged.get(pathOf(snapshot, file));
      if (known !== undefined && !(await this.#isPutBack(snapshot, file, known))) throw known.error;
    }
  }

  /** Starts no further verification, and waits for the running ones. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#known.values());
  }

  async #verifyOne(snapshot: Snapshot, file: DataFile): Promise<void> {
    const stamp = await this.#stampOf(snapshot, file);
    const damage = await damageSinceVerified(this.#lake, snapshot, file).catch(unreadable);
    if (damage?.kind === "damaged") this.#found(snapshot, file, damage, stamp);
    // A missing file makes the request fail that reads it. It is verified once it is restored.
    if (damage === undefined || damage.kind === "damaged") {
      this.#seen.add(file);
      return;
    }
    this.#known.delete(pathOf(snapshot, file));
    // A file that cannot be read now does not count as verified: it may be readable later.
    if (damage.kind === "unreadable") throw damageError(snapshot, file, damage);
  }

  #found(snapshot: Snapshot, file: DataFile, { what }: FileDamage, stamp: string): void {
    const hint = "restore it from a backup, or run barlake repair";
    const error = new LakeError(`table ${snapshot.table.name}: ${file.path} ${what}`, { hint });
    this.#damaged.set(pathOf(snapshot, file), { error, stamp });
    this.#onDamage(error);
  }

  /** Whether a damaged file was replaced by a sound one. */
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

function pathOf({ table }: Snapshot, { path }: DataFile): string {
  return `${table.name}/${path}`;
}

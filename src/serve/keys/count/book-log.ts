import { messageOf, UsageError } from "../../../core/errors.js";
import { type Clock, ticksOf } from "../../../core/time.js";
import type { Storage } from "../../../lake/storage/storage.js";
import { EMPTY_BOOK, type PermitBook, parseBook } from "./permit-book.js";

/** The methods of a storage that the log needs. */
export type BookStore = Pick<Storage, "list" | "readText" | "putIfAbsent" | "delete">;

const FOLDER = "permits";
/** Number of versions that are not deleted. No change sees this many newer versions between two of its requests. */
const RETAINED = 200;
/** A change that took longer than this, in milliseconds, is checked against the existing versions. */
const SLOW_MS = 5000;

/** A version of the book. */
interface BookVersion {
  readonly version: number;
  readonly book: PermitBook;
}

/**
 * The versions of a permit book: numbered files that are each created once. Of several processes that make the same
 * version, one succeeds, and the others read the book again. It is a class because it caches the newest version.
 */
export class BookLog {
  readonly #store: BookStore;
  readonly #clock: Pick<Clock, "now" | "monotonic">;
  #known: BookVersion = { version: 0, book: EMPTY_BOOK };
  #readAt = { ticks: 0, now: 0 };

  constructor(store: BookStore, clock: Pick<Clock, "now" | "monotonic">) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Reads the newest version. @throws {UsageError} where the file is not a book. */
  async newest(): Promise<BookVersion> {
    for (;;) {
      this.#readAt = this.#reading();
      const version = await this.#newestNumber(this.#known.version);
      if (version <= this.#known.version) return this.#known;
      const text = await this.#store.readText(pathOf(version));
      // The version was deleted, because many newer ones exist.
      if (text === undefined) continue;
      this.#known = { version, book: bookIn(text, pathOf(version)) };
      return this.#known;
    }
  }

  /** Adds a version after the one that was read last. @returns false where another process added a version first. */
  async append(book: PermitBook): Promise<boolean> {
    const version = this.#known.version + 1;
    if (!(await this.#store.putIfAbsent(pathOf(version), `${JSON.stringify(book)}\n`))) return false;
    const { ticks, now } = this.#reading();
    const tookMs = Math.max(ticks - this.#readAt.ticks, now - this.#readAt.now);
    // Old versions are deleted, so a free number may be far below the newest one.
    if (tookMs > SLOW_MS && (await this.#newestNumber(0)) - version >= RETAINED / 2) {
      await this.#store.delete(pathOf(version));
      return false;
    }
    this.#known = { version, book };
    if (version > RETAINED) await this.#store.delete(pathOf(version - RETAINED)).catch(() => {});
    return true;
  }

  async #newestNumber(after: number): Promise<number> {
    const names = await this.#store.list(FOLDER, nameOf(after));
    return names.reduce((newest, name) => Math.max(newest, Number(NAME.exec(name)?.[1] ?? 0)), 0);
  }

  #reading(): { readonly ticks: number; readonly now: number } {
    return { ticks: ticksOf(this.#clock), now: this.#clock.now() };
  }
}

const NAME = /^(\d{12})\.json$/;

function nameOf(version: number): string {
  return `${String(version).padStart(12, "0")}.json`;
}

function pathOf(version: number): string {
  return `${FOLDER}/${nameOf(version)}`;
}

function bookIn(text: string, path: string): PermitBook {
  try {
    return parseBook(text);
  } catch (cause) {
    throw new UsageError(`${path}: is no book of permits: ${messageOf(cause)}`, {
      hint: "all services over one place must be of the same release; end them, and delete the folder permits",
      cause,
    });
  }
}

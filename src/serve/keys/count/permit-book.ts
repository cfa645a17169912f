import { randomUUID } from "node:crypto";
import { z } from "zod";
import { messageOf, UsageError } from "../../../core/errors.js";
import { type Clock, MINUTE_MS, ticksOf } from "../../../core/time.js";
import type { Storage } from "../../../lake/storage/storage.js";
import { ownerShape, thisProcess } from "../../../lease/owner.js";
import type { PermitUses } from "./permit-uses.js";

/**
 * How the processes of a service share the requests per minute of its keys. A permit is the right to accept one request
 * in every minute; it does not expire. The permits of processes and those that rest are together never more than the
 * key's limit.
 */
const bookShape = z.object({
  version: z.literal(1),
  holders: z.record(
    z.string(),
    z.object({
      owner: ownerShape,
      /** A number that grows while the process lives, because clocks of different machines cannot be compared. */
      beat: z.int(),
      keys: z.record(
        z.string(),
        z.object({
          permits: z.int().min(0),
          /** Number of further permits that the process needs now. */
          wanted: z.int().min(0),
        }),
      ),
    }),
  ),
  /**
   * Permits that were given up but may have been used recently, by an id of each group. No process may use them for
   * `forMs` milliseconds.
   */
  resting: z.record(
    z.string(),
    z.object({ key: z.string(), permits: z.int().positive(), forMs: z.number().positive() }),
  ),
});

export type PermitBook = Readonly<z.infer<typeof bookShape>>;
export type Holding = PermitBook["holders"][string]["keys"][string];

const EMPTY_BOOK: PermitBook = { version: 1, holders: {}, resting: {} };

/** @throws {z.ZodError} or {SyntaxError} for a text that is not a book. */
function parseBook(text: string): PermitBook {
  return bookShape.parse(JSON.parse(text));
}

/** The permits of a key from the view of one process. */
interface KeyAvailability {
  /** Permits that no process has; negative after the key's limit was lowered. */
  readonly free: number;
  /**
   * How many of the free permits this process may take. The others are reserved for processes that have less than their
   * fair share.
   */
  readonly available: number;
  /** Number of permits that other processes need now. */
  readonly wantedByOthers: number;
  /** The fair share: the limit divided equally between the processes that have permits or need some. */
  readonly fair: number;
}

/** Computes the permits of a key from the view of one process. @param limit requests per minute of the key. */
function availabilityOf(book: PermitBook, self: string, key: string, limit: number): KeyAvailability {
  const all = Object.entries(book.holders).flatMap(([id, { keys }]) => {
    const holding = Object.hasOwn(keys, key) ? keys[key] : undefined;
    return holding === undefined ? [] : [{ id, ...holding }];
  });
  const others = all.filter(({ id }) => id !== self);
  const active = others.filter(({ permits, wanted }) => permits > 0 || wanted > 0).length + 1;
  const fair = Math.max(1, Math.floor(limit / active));
  const resting = Object.values(book.resting).filter((one) => one.key === key);
  const used = [...all, ...resting].reduce((sum, { permits }) => sum + permits, 0);
  const free = limit - used;
  const promised = others.reduce(
    (sum, { permits, wanted }) => sum + Math.min(wanted, Math.max(0, fair - permits)),
    0,
  );
  const own = all.find(({ id }) => id === self)?.permits ?? 0;
  const wantedByOthers = others.reduce((sum, { wanted }) => sum + wanted, 0);
  return {
    free,
    // A process below its fair share may take permits that are reserved for others.
    available: Math.max(
      0,
      own < fair ? Math.min(free, Math.max(free - promised, fair - own)) : free - promised,
    ),
    wantedByOthers,
    fair,
  };
}

/**
 * A process without competition takes this fraction of the limit at a time, so that it has the whole limit after a few
 * steps.
 */
const PART = 16;

/**
 * Permits that a process takes for each refused request, while other processes need some: more requests will follow
 * soon.
 */
const AHEAD = 4;

/** How many permits a process takes. @param wanted number of requests that found no permit. */
function permitsToTake(
  { available, wantedByOthers }: KeyAvailability,
  { permits, wanted, limit }: { readonly permits: number; readonly wanted: number; readonly limit: number },
): number {
  if (wanted === 0) return 0;
  const generous = Math.max(wanted, permits, Math.ceil(limit / PART));
  return Math.min(available, wantedByOthers > 0 ? AHEAD * wanted : generous);
}

/** The most permits that a process without competition retains. After a minute without a request it retains none. */
function permitsToRetain(used: number, limit: number): number {
  return used === 0 ? 0 : used + 2 * Math.ceil(limit / PART);
}

/** With random requests at a steady rate, one pause in twenty is longer than this number of average gaps. */
const SILENT_GAPS = 3;
const SILENT_MS = 1000;

/**
 * Whether the requests of a key no longer come to a process: its last one is several times the usual gap ago.
 *
 * @param used requests in the last minute.
 * @param silentMs milliseconds since the last request.
 */
function isIdleKey(used: number, silentMs: number): boolean {
  return silentMs >= Math.max(SILENT_MS, (SILENT_GAPS * MINUTE_MS) / used);
}

/** A process retains one hundredth of a key's limit for its next requests while other processes need permits. */
const RESERVE = 100;

/**
 * How many permits a process gives up because others need them or the key's limit was lowered: the unused ones, and
 * those used ones that exceed its fair share.
 *
 * @param used permits with which a request was accepted in the last minute.
 */
function permitsToGive(
  { free, wantedByOthers, fair }: KeyAvailability,
  { permits, used, limit }: { readonly permits: number; readonly used: number; readonly limit: number },
): number {
  const tooMany = Math.min(Math.max(0, -free), Math.max(0, permits - fair));
  const needed = wantedByOthers - Math.max(0, free);
  if (needed <= 0) return tooMany;
  const unused = Math.max(0, permits - used - Math.floor(limit / RESERVE));
  const aboveFair = Math.max(0, permits - fair);
  return Math.max(tooMany, Math.min(needed, Math.max(unused, aboveFair)));
}

/** The permits that a process has of a key, and those that it needs. */
export interface OwnKey {
  readonly permits: number;
  /** The limit of the key, in requests per minute. */
  readonly limit: number;
  readonly wanted: number;
  /** Time of the last request, in milliseconds of the monotonic clock. */
  readonly askedAt: number;
  readonly uses: PermitUses;
}

interface BookChange {
  readonly self: string;
  /** The beat that a new version states for this process. */
  readonly beat: number;
  readonly isBeatDue: boolean;
  /** Whether the process is closing, and gives up all permits. */
  readonly isClosing: boolean;
  readonly keys: ReadonlyMap<string, OwnKey>;
  /** The current time, in milliseconds of the monotonic clock. */
  readonly ticks: number;
  /** Ids of processes that have ended. */
  readonly ended: ReadonlySet<string>;
  /** Ids of resting permits that have rested long enough. */
  readonly rested: ReadonlySet<string>;
}

/** The permits that a process gives up. */
interface Given {
  readonly permits: number;
  /** Uses before this number are given up with the permits: see {@link PermitUses}. */
  readonly usesUntil: number;
}

interface NextBook {
  /** Undefined where nothing changes. */
  readonly book: PermitBook | undefined;
  /** Number of permits taken, by the name of the key. */
  readonly taken: ReadonlyMap<string, number>;
  readonly given: ReadonlyMap<string, Given>;
}

/** The next version of the book after the changes of one process. */
export function nextBook(book: PermitBook, change: BookChange): NextBook {
  const { self, beat, keys, ticks } = change;
  const cleaned = withoutEnded(book, change);
  const taken = new Map<string, number>();
  const given = new Map<string, Given>();
  const holdings: Record<string, Holding> = {};
  const resting = { ...cleaned.resting };
  for (const [name, key] of keys) {
    const give = toGive(cleaned, name, key, change);
    const take = give > 0 ? 0 : toTake(cleaned, name, key, change);
    if (take > 0) taken.set(name, take);
    if (give > 0) {
      const used = Math.max(0, give - (key.permits - key.uses.countAt(ticks)));
      given.set(name, { permits: give, usesUntil: key.uses.numberAfter(used) });
      for (const rest of key.uses.restOf(used, ticks)) resting[randomUUID()] = { key: name, ...rest };
    }
    const wanted = change.isClosing ? 0 : roughly(AHEAD * key.wanted - take);
    const permits = key.permits - give + take;
    if (permits > 0 || wanted > 0) holdings[name] = { permits, wanted };
  }
  const { [self]: before, ...others } = cleaned.holders;
  const isHolder = Object.keys(holdings).length > 0;
  const isSame =
    cleaned === book && taken.size === 0 && given.size === 0 && areSame(before?.keys ?? {}, holdings);
  if (isSame && !(isHolder && change.isBeatDue)) return { book: undefined, taken, given };
  const holders = isHolder ? { ...others, [self]: { owner: thisProcess(), beat, keys: holdings } } : others;
  return { book: { version: 1, holders, resting }, taken, given };
}

/** The book in which the permits of ended processes rest, and permits that have rested long enough are free. */
function withoutEnded(book: PermitBook, { ended, rested }: BookChange): PermitBook {
  if (ended.size === 0 && rested.size === 0) return book;
  const [holders, resting] = [{ ...book.holders }, { ...book.resting }];
  for (const id of rested) delete resting[id];
  for (const id of ended) {
    for (const [key, { permits }] of Object.entries(holders[id]?.keys ?? {}))
      if (permits > 0) resting[randomUUID()] = { key, permits, forMs: MINUTE_MS };
    delete holders[id];
  }
  return { version: 1, holders, resting };
}

function toGive(book: PermitBook, name: string, key: OwnKey, change: BookChange): number {
  const { permits, limit, wanted } = key;
  if (change.isClosing) return permits;
  const used = Math.min(permits, key.uses.countAt(change.ticks));
  const idle = wanted > 0 ? 0 : Math.max(0, permits - permitsToRetain(used, limit));
  const availability = availabilityOf(book, change.self, name, limit);
  const isIdle = isIdleKey(used, change.ticks - key.askedAt);
  // Used permits rest in the book, so that processes that need permits see when each of them becomes free.
  if (isIdle && wanted === 0 && availability.wantedByOthers > 0) return permits;
  return Math.max(idle, permitsToGive(availability, { permits, used, limit }));
}

function toTake(book: PermitBook, name: string, key: OwnKey, change: BookChange): number {
  const { permits, limit, wanted } = key;
  if (change.isClosing) return 0;
  return permitsToTake(availabilityOf(book, change.self, name, limit), { permits, wanted, limit });
}

/** The next power of four, so that the number in the book changes seldom. */
function roughly(wanted: number): number {
  return wanted <= 0 ? 0 : 4 ** Math.ceil(Math.log(wanted) / Math.log(4));
}

function areSame(one: Readonly<Record<string, Holding>>, other: Readonly<Record<string, Holding>>): boolean {
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => {
      const [a, b] = [one[name], Object.hasOwn(other, name) ? other[name] : undefined];
      return a?.permits === b?.permits && a?.wanted === b?.wanted;
    })
  );
}

/** The methods of a storage that the log needs. */
export type BookStore = Pick<Storage, "list" | "readText" | "putIfAbsent" | "delete">;

const FOLDER = "permits";
/** Number of versions that are not deleted. No change sees this many newer versions between two of its requests. */
const RETAINED = 200;
/** A change that took longer than this, in milliseconds, is checked against the existing versions. */
const SLOW_MS = 5000;

interface BookVersion {
  readonly version: number;
  readonly book: PermitBook;
}

/**
 * The versions of a permit book: numbered files that are each created once. Of several processes that make the same
 * version, one succeeds, and the others read the book again.
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

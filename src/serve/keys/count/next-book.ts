import { randomUUID } from "node:crypto";
import { MINUTE_MS } from "../../../core/time.js";
import { thisProcess } from "../../../lease/owner.js";
import {
  AHEAD,
  type Holding,
  hasMovedAway,
  outlookOf,
  type PermitBook,
  permitsToGive,
  permitsToRetain,
  permitsToTake,
} from "./permit-book.js";
import type { PermitUses } from "./permit-uses.js";

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
  const outlook = outlookOf(book, change.self, name, limit);
  const isIdle = hasMovedAway(used, change.ticks - key.askedAt);
  // Used permits rest in the book, so that processes that need permits see when each of them becomes free.
  if (isIdle && wanted === 0 && outlook.wantedByOthers > 0) return permits;
  return Math.max(idle, permitsToGive(outlook, { permits, used, limit }));
}

function toTake(book: PermitBook, name: string, key: OwnKey, change: BookChange): number {
  const { permits, limit, wanted } = key;
  if (change.isClosing) return 0;
  return permitsToTake(outlookOf(book, change.self, name, limit), { permits, wanted, limit });
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

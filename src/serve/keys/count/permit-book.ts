import { z } from "zod";
import { MINUTE_MS } from "../../../core/time.js";
import { ownerShape } from "../../../lease/owner.js";

/**
 * How the processes of a service divide the requests a minute of its keys. A permit is the right to accept one request in
 * each minute, without an end. The permits that processes have, and those that rest, are never more than the key's number.
 */
const bookShape = z.object({
  version: z.literal(1),
  /** By the id of the process. */
  holders: z.record(
    z.string(),
    z.object({
      owner: ownerShape,
      /** Grows while the process lives: the clocks of machines are not compared. */
      beat: z.int(),
      /** By the name of the key. */
      keys: z.record(
        z.string(),
        z.object({
          permits: z.int().min(0),
          /** Further permits that the process needs now. */
          wanted: z.int().min(0),
        }),
      ),
    }),
  ),
  /** Permits that were given up and may have been used lately, each with an id: nobody has them for that time. */
  resting: z.record(
    z.string(),
    z.object({ key: z.string(), permits: z.int().positive(), forMs: z.number().positive() }),
  ),
});

export type PermitBook = Readonly<z.infer<typeof bookShape>>;
export type Holding = PermitBook["holders"][string]["keys"][string];

export const EMPTY_BOOK: PermitBook = { version: 1, holders: {}, resting: {} };

/** @throws {z.ZodError} or {SyntaxError} for a text that is not a book. */
export function parseBook(text: string): PermitBook {
  return bookShape.parse(JSON.parse(text));
}

/** What the other processes have of a key, and need. */
export interface KeyOutlook {
  /** Permits that nobody has; negative after the key's number was lowered. */
  readonly free: number;
  /** The part of the free permits that this process may take: the rest is for processes that have less than their part. */
  readonly available: number;
  /** Permits that others need now. */
  readonly wantedByOthers: number;
  /** The equal part of each process that has permits or needs some. */
  readonly fair: number;
}

/** The permits of a key, as one process sees them. */
export function outlookOf(book: PermitBook, self: string, key: string, limit: number): KeyOutlook {
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
    // A process below its part does not wait for others.
    available: Math.max(
      0,
      own < fair ? Math.min(free, Math.max(free - promised, fair - own)) : free - promised,
    ),
    wantedByOthers,
    fair,
  };
}

/** Permits that a process without competition takes at a time, so that it has those of the whole key after a few steps. */
const PART = 16;

/** Permits that a process takes for each request that found none, while others need some: the next ones come soon. */
export const AHEAD = 4;

/** How many permits a process takes. @param wanted the requests that it had to refuse, or now has. */
export function permitsToTake(
  { available, wantedByOthers }: KeyOutlook,
  { permits, wanted, limit }: { readonly permits: number; readonly wanted: number; readonly limit: number },
): number {
  if (wanted === 0) return 0;
  const generous = Math.max(wanted, permits, Math.ceil(limit / PART));
  return Math.min(available, wantedByOthers > 0 ? AHEAD * wanted : generous);
}

/** The most permits that a process without competition retains: a minute without a request gives all of them up. */
export function permitsToRetain(used: number, limit: number): number {
  return used === 0 ? 0 : used + 2 * Math.ceil(limit / PART);
}

/** In one of twenty cases, a process with random requests at a steady rate has a pause of so many average gaps. */
const SILENT_GAPS = 3;
const SILENT_MS = 1000;

/**
 * Whether the requests of a key have moved away from a process: it has had none for several times the usual gap.
 *
 * @param used requests in the last minute. @param silentMs time since the last one.
 */
export function hasMovedAway(used: number, silentMs: number): boolean {
  return silentMs >= Math.max(SILENT_MS, (SILENT_GAPS * MINUTE_MS) / used);
}

/** Part of a key's permits that a process retains for its next requests while others need permits. */
const RESERVE = 100;

/**
 * How many permits a process gives up, because others need them or the key's number was lowered: those that it does not
 * use, and of the used ones what is above its part.
 *
 * @param used permits with which a request was accepted in the last minute.
 */
export function permitsToGive(
  { free, wantedByOthers, fair }: KeyOutlook,
  { permits, used, limit }: { readonly permits: number; readonly used: number; readonly limit: number },
): number {
  const tooMany = Math.min(Math.max(0, -free), Math.max(0, permits - fair));
  const needed = wantedByOthers - Math.max(0, free);
  if (needed <= 0) return tooMany;
  const unused = Math.max(0, permits - used - Math.floor(limit / RESERVE));
  const aboveFair = Math.max(0, permits - fair);
  return Math.max(tooMany, Math.min(needed, Math.max(unused, aboveFair)));
}

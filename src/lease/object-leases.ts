import { randomUUID } from "node:crypto";
import pMap from "p-map";
import { BarlakeError } from "../core/errors.js";
import { freshLists } from "../object-store/fresh-lists.js";
import type { ListedObject } from "../object-store/http/list-page.js";
import type { StorePlace } from "../object-store/store-place.js";
import type { LeaseState, LeaseStore } from "./lease-store.js";

/** The first byte of an entry is the state of the lease. The entry that removes a record is empty. */
const STATES: Readonly<Record<LeaseState, string>> = { waiting: " ", acquired: "\n" };
/** Most attempts of one call, if other processes renew the record first, or lists show entries that were deleted. */
const MAX_ATTEMPTS = 50;
/** The pause before an attempt is longer by this time than the one before, in milliseconds: 12 seconds in all. */
const PAUSE_STEP_MS = 10;
/** Age in milliseconds after which objects of removed records are certainly no longer used. */
const ABANDONED_MS = 3_600_000;
/** Number of objects that are read or deleted at the same time. */
const PARALLEL = 8;

/** The newest entry of a record that this process knows. */
interface Position {
  readonly generation: string;
  readonly entry: number;
  readonly text: string;
}

/**
 * Records of leases as objects of a store. A record is a list of numbered entries, each of which is an object. The
 * first entry creates the record; each renewal, and its removal, adds an entry. Entries are created with If-None-Match,
 * so of a renewal and a removal at the same time one succeeds, and the other is noticed. Only the first and the newest
 * entry remain.
 *
 * No request uses If-Match, which stores treat differently: some always refuse it, some ignore it. A store that ignores
 * If-None-Match is rejected when its place is probed. A list that lacks an entry which this process has written, or was
 * refused because it exists, is repeated: a process that has created a record and then lists the others would not see them
 * in a list that lags. Times are those of the objects, in whole seconds; the
 * milliseconds are a counter of the renewals.
 *
 * Requests: `ids` a list; `read` a list and a get; `create` a put; `renew` a put, a list and a delete; `remove` two
 * lists, a put and three or four deletes; `now` a put and a head.
 */
export function objectLeases(place: StorePlace, folder: string): LeaseStore {
  const { store } = place;
  const root = `${place.keyOf(folder)}/`;
  const lists = freshLists(store);
  /** Positions of the records that this process renews, by id. */
  const positions = new Map<string, Position>();

  const listed = async (prefix: string): Promise<Map<string, Generation[]>> =>
    generationsIn(root, await lists.objectsUnder(prefix));
  /** Creates an entry, unless it exists. @returns whether this call created it. */
  const put = async (key: string, text: string): Promise<boolean> => {
    const isCreated = await store.putIfAbsent(key, Buffer.from(text));
    lists.expect(key);
    return isCreated;
  };
  const discard = async (key: string): Promise<void> => {
    lists.forget(key);
    await store.delete(key);
  };
  /** The pause after an attempt. There is none after the first one. */
  const pause = (attempt: number): Promise<void> =>
    attempt === 1 ? Promise.resolve() : store.clock.sleep((attempt - 1) * PAUSE_STEP_MS);
  /** The record of an id, without its text; undefined where there is none. */
  const find = async (id: string): Promise<Generation | undefined> =>
    livingOf((await listed(`${root}${id}/`)).get(id) ?? []);
  const textOf = async (id: string, { name, newest }: Generation): Promise<string | undefined> =>
    (await store.get(keyIn(root, id, name, newest.entry)))?.toString("utf8");

  /** The record of an id, with its text. If the newest entry no longer exists, it was replaced after it was listed. */
  const read = async (id: string): Promise<{ found: Generation; text: string } | undefined> => {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const found = await find(id);
      if (found === undefined) return undefined;
      const text = await textOf(id, found);
      if (text !== undefined) return { found, text };
      await pause(attempt);
    }
    throw tooBusy(id);
  };

  const positionOf = async (id: string): Promise<Position | undefined> => {
    const one = await read(id);
    if (one === undefined) return undefined;
    return { generation: one.found.name, entry: one.found.newest.entry, text: one.text.slice(1) };
  };

  /**
   * Adds an entry after the newest one. @returns the record afterwards; undefined where another process has added an
   * entry, or the record no longer exists.
   */
  const append = async (
    id: string,
    at: Omit<Position, "text">,
    text: string,
  ): Promise<Generation | undefined> => {
    const key = keyIn(root, id, at.generation, at.entry + 1);
    if (!(await put(key, text))) return undefined;
    // Entries are deleted, so a free number may be below the newest one, or belong to a record that no longer exists.
    const all = (await listed(`${root}${id}/`)).get(id) ?? [];
    const now = all.find(({ name }) => name === at.generation);
    if (now?.isBorn === true && now.newest.entry === at.entry + 1) return now;
    await discard(key);
    return undefined;
  };

  /**
   * Deletes the entries of a removed record. The first entry is deleted first: without it the record does not exist.
   */
  const clean = async (id: string, { name, entries }: Generation): Promise<void> => {
    const [last = 0, ...others] = entries.toReversed();
    for (const entry of others.toReversed()) await discard(keyIn(root, id, name, entry));
    await discard(keyIn(root, id, name, last));
  };

  return {
    async ids() {
      const all = await listed(root);
      const living = [...all].filter(([, generations]) => livingOf(generations) !== undefined);
      await cleanAbandoned(all);
      return living.map(([id]) => id);
    },
    async read(id) {
      const one = await read(id);
      if (one === undefined) return undefined;
      const { found, text } = one;
      const state = text.startsWith(STATES.waiting) ? "waiting" : "acquired";
      return { text: text.slice(1), state, renewedAt: found.newest.renewedAt };
    },
    async create(id, text, state) {
      await place.expectWritable();
      const position = { generation: randomUUID(), entry: 0, text };
      await put(keyIn(root, id, position.generation, 0), STATES[state] + text);
      positions.set(id, position);
    },
    async renew(id, state) {
      for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
        const at = positions.get(id) ?? (await positionOf(id));
        if (at === undefined) return false;
        positions.delete(id);
        const now = await append(id, at, STATES[state] + at.text);
        if (now === undefined) {
          await pause(attempt);
          continue;
        }
        positions.set(id, { ...at, entry: now.newest.entry });
        const older = now.entries.filter((entry) => entry > 0 && entry < now.newest.entry);
        await pMap(older, (entry) => discard(keyIn(root, id, now.name, entry)), { concurrency: PARALLEL });
        return true;
      }
      throw tooBusy(id);
    },
    async remove(id, renewedAt) {
      for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
        positions.delete(id);
        const found = await find(id);
        if (found === undefined) return true;
        if (renewedAt !== undefined && found.newest.renewedAt !== renewedAt) return false;
        const removed = await append(id, { generation: found.name, entry: found.newest.entry }, "");
        if (removed === undefined) {
          await pause(attempt);
          continue;
        }
        await clean(id, removed);
        return true;
      }
      throw tooBusy(id);
    },
    async now() {
      // The time of an object is used, and not that of a response, which may come from a proxy.
      const key = `${root}time`;
      await store.put(key, new Uint8Array());
      const facts = await store.head(key);
      if (facts === undefined) throw new BarlakeError(`object ${key} is gone, which was just written`);
      return facts.modifiedAt;
    },
    tidy: async () => {},
  };

  /** Deletes the objects of removed records that killed processes have left. */
  async function cleanAbandoned(all: ReadonlyMap<string, readonly Generation[]>): Promise<void> {
    const times = [...all.values()].flat().map(({ newest }) => newest.renewedAt);
    const now = times.reduce((latest, time) => Math.max(latest, time), 0);
    for (const [id, generations] of all)
      for (const one of generations)
        if (!one.isLiving && now - one.newest.renewedAt > ABANDONED_MS) await clean(id, one);
  }
}

function tooBusy(id: string): BarlakeError {
  return new BarlakeError(
    `lease ${id}: other processes have changed it, or lists of the store were too old, at ${MAX_ATTEMPTS} attempts`,
  );
}

/**
 * The entries of one creation of a record. If a lease was removed, it may be created again under another generation's
 * name.
 */
export interface Generation {
  readonly name: string;
  /** Numbers of the existing entries, ascending. */
  readonly entries: readonly number[];
  readonly newest: { readonly entry: number; readonly renewedAt: number };
  /** Whether the first entry exists. */
  readonly isBorn: boolean;
  /** Whether the record exists: its first entry exists, and its newest entry does not remove it. */
  readonly isLiving: boolean;
}

const DIGITS = 12;
const KEY = new RegExp(`^([^/]+)/([^/]+)\\.(\\d{${DIGITS}})$`);

function keyIn(root: string, id: string, generation: string, entry: number): string {
  return `${root}${id}/${generation}.${String(entry).padStart(DIGITS, "0")}`;
}

/** Groups a list of objects into generations, by the id of the record. Other objects are left out. */
function generationsIn(root: string, objects: readonly ListedObject[]): Map<string, Generation[]> {
  const entries = new Map<string, Map<string, (ListedObject & { entry: number })[]>>();
  for (const object of objects) {
    const [, id = "", name = "", digits] = KEY.exec(object.key.slice(root.length)) ?? [];
    if (digits === undefined) continue;
    const ofId = entries.get(id) ?? new Map();
    entries.set(id, ofId);
    ofId.set(name, [...(ofId.get(name) ?? []), { ...object, entry: Number(digits) }]);
  }
  return new Map(
    [...entries].map(([id, ofId]) => [id, [...ofId].map(([name, found]) => generationOf(name, found))]),
  );
}

function generationOf(name: string, found: readonly (ListedObject & { entry: number })[]): Generation {
  const sorted = found.toSorted((a, b) => a.entry - b.entry);
  const last = sorted.at(-1) as (typeof sorted)[number];
  const isBorn = sorted[0]?.entry === 0;
  return {
    name,
    entries: sorted.map(({ entry }) => entry),
    // Two renewals within the same second get different times.
    newest: { entry: last.entry, renewedAt: last.modifiedAt + (last.entry % 1000) },
    isBorn,
    isLiving: isBorn && last.size > 0,
  };
}

/** The existing record among the generations of an id; undefined where there is none. */
function livingOf(generations: readonly Generation[]): Generation | undefined {
  const living = generations.filter(({ isLiving }) => isLiving);
  return living.toSorted((a, b) => a.newest.renewedAt - b.newest.renewedAt).at(-1);
}

import { randomInt, randomUUID } from "node:crypto";
import { type Clock, MINUTE_MS, ticksOf } from "../../../core/time.js";
import { stateOf } from "../../../lease/owner.js";
import { RequestError } from "../../http/request-error.js";
import type { RequestQuota } from "../../http/request-quota.js";
import { BookLog, type BookStore, nextBook, type OwnKey, type PermitBook } from "./permit-book.js";
import { PermitUses } from "./permit-uses.js";

/** How often a process that has permits reads the book, in milliseconds. */
const READ_MS = 2000;
/** The same, in milliseconds, while others need permits that it has, and for CONTENDED_MS after that. */
const CONTENDED_READ_MS = 500;
const CONTENDED_MS = 10_000;
/** Time between two beats of a process that has permits, in milliseconds. */
const BEAT_MS = 10_000;
/** A process counts as ended if another process has seen no new beat of it for this time, in milliseconds. */
const STALE_MS = 60_000;
/** A process uses its permits for this time after a successful beat, in milliseconds. */
const VALID_MS = 45_000;
/** Longest time that a request waits for permits, in milliseconds. */
const PATIENCE_MS = 1000;
/** Time before the book is read again for a key that has no free permits, in milliseconds. */
const ASK_AGAIN_MS = 500;
/** The wait that a response states while requests cannot be counted, in milliseconds. */
const AWAY_MS = 5000;
/** Most attempts at one change, if other processes make changes first. */
const MAX_ATTEMPTS = 20;

interface Key extends OwnKey {
  permits: number;
  limit: number;
  /** Number of requests that found no permit since the last change of the book. */
  wanted: number;
  askedAt: number;
  /** Time of the monotonic clock before which the book is not read again for this key. */
  quietUntil: number;
  /** Whether other processes have permits of this key, or recently gave some up. */
  isShared: boolean;
  /** When another process was last seen to need permits of this key. */
  wantedAt: number;
}

/**
 * Counts the requests of each key over all processes of a service that share a place. Each process has permits, and
 * accepts a request with a permit that it has not used for a minute, so that most requests do not need the store.
 * Processes take free permits, and give up permits that others need. In any minute, no more requests are accepted than
 * the key's limit.
 *
 * Runs divide the key that they use in another way (`client/key/key-shares`): equal parts, which a new user gets within
 * ten seconds. Requests to a service come unevenly, and wait for at most one second: of 300 requests a minute that
 * came to three processes in the ratio 20 : 3 : 1, permits accepted 299.7; equal parts would accept 260.
 */
export class PermitQuota implements RequestQuota {
  readonly #log: BookLog;
  readonly #clock: Clock;
  readonly #onFault: (error: unknown) => void;
  readonly #id = randomUUID();
  readonly #keys = new Map<string, Key>();
  /** When each beat of another process, and each resting permit, was first seen. */
  readonly #beats = new Map<string, { readonly beat: number; readonly at: number }>();
  readonly #restsSince = new Map<string, number>();
  readonly #ending = new AbortController();
  #beat = 0;
  /** When the last change with a beat began, by both clocks. */
  #beatAt = { ticks: Number.NEGATIVE_INFINITY, now: Number.NEGATIVE_INFINITY };
  #running: { readonly since: number; readonly done: Promise<void> } | undefined;
  #queued: Promise<void> | undefined;
  #isWatching = false;
  #isFaulty = false;

  /** @param onFault called when the store cannot be reached; not called again until it was reached in between. */
  constructor(store: BookStore, clock: Clock, onFault: (error: unknown) => void) {
    this.#log = new BookLog(store, clock);
    this.#clock = clock;
    this.#onFault = onFault;
  }

  take(caller: string, _now: number, requestsPerMinute: number): number | Promise<number> {
    const key = this.#keyOf(caller, requestsPerMinute);
    return this.#accepts(key) ? 0 : this.#takeMore(key);
  }

  /** Gives up all permits. No request is accepted afterwards. */
  async close(): Promise<void> {
    this.#ending.abort();
    if (this.#keys.size === 0) return;
    // If it fails, the other processes notice later that this one has ended.
    await this.#patiently(this.#exchange());
  }

  #keyOf(name: string, limit: number): Key {
    let key = this.#keys.get(name);
    if (key === undefined) {
      const never = Number.NEGATIVE_INFINITY;
      const uses = new PermitUses();
      const times = { askedAt: never, quietUntil: never, wantedAt: never };
      key = { permits: 0, limit, wanted: 0, isShared: false, uses, ...times };
      this.#keys.set(name, key);
    }
    key.limit = limit;
    key.askedAt = ticksOf(this.#clock);
    return key;
  }

  /** Accepts a request if there is a permit for it. */
  #accepts(key: Key): boolean {
    const ticks = ticksOf(this.#clock);
    const left = key.permits - key.uses.countAt(ticks);
    if (left <= 0 || !this.#isValid || this.#ending.signal.aborted) return false;
    key.uses.add(ticks);
    // More permits are requested before the last one is used.
    if (left <= key.limit / 64 && ticks >= key.quietUntil) {
      key.wanted = Math.max(1, key.wanted);
      void this.#exchange();
    }
    return true;
  }

  /** Tries to get permits. @returns the number of milliseconds to wait, if there is none. */
  async #takeMore(key: Key): Promise<number> {
    key.wanted++;
    if (ticksOf(this.#clock) >= key.quietUntil || !this.#isValid) await this.#patiently(this.#exchange());
    if (this.#accepts(key)) return 0;
    if (!this.#isValid)
      throw new RequestError(
        "RATE_LIMITED",
        `the requests of this key cannot be counted now; ask again in ${AWAY_MS}ms`,
        AWAY_MS,
      );
    const ticks = ticksOf(this.#clock);
    const ownMs = key.permits > 0 ? key.uses.freeAt(key.permits, ticks) - ticks : MINUTE_MS;
    return Math.max(1, Math.ceil(key.isShared ? Math.min(ownMs, READ_MS) : ownMs));
  }

  /**
   * Waits for a change of the book, for a limited time. It does not wait if the running change has already taken
   * longer.
   */
  async #patiently(change: Promise<void>): Promise<void> {
    const waitedMs = ticksOf(this.#clock) - (this.#running?.since ?? Number.POSITIVE_INFINITY);
    if (waitedMs > PATIENCE_MS) return;
    const enough = new AbortController();
    await Promise.race([change, this.#clock.sleep(PATIENCE_MS, enough.signal).catch(() => {})]);
    enough.abort();
  }

  /** Changes the book once. Calls during a change share the next change. It never rejects. */
  #exchange(): Promise<void> {
    if (this.#running === undefined) return this.#run();
    this.#queued ??= this.#running.done.then(() => {
      this.#queued = undefined;
      return this.#run();
    });
    return this.#queued;
  }

  #run(): Promise<void> {
    const done = this.#attempt();
    this.#running = { since: ticksOf(this.#clock), done };
    if (!this.#ending.signal.aborted && !this.#isWatching) void this.#watch();
    return done;
  }

  async #attempt(): Promise<void> {
    try {
      await this.#change();
      this.#isFaulty = false;
    } catch (error) {
      if (!this.#isFaulty) this.#onFault(error);
      this.#isFaulty = true;
    }
    this.#running = undefined;
    this.#forgetIdle();
  }

  /** Reads the book repeatedly while this process has permits or needs some. */
  async #watch(): Promise<void> {
    const { signal } = this.#ending;
    this.#isWatching = true;
    for (;;) {
      const since = ticksOf(this.#clock) - CONTENDED_MS;
      const isContended = [...this.#keys.values()].some(({ wantedAt }) => wantedAt > since);
      await this.#clock.sleep(isContended ? CONTENDED_READ_MS : READ_MS, signal).catch(() => {});
      if (signal.aborted || this.#keys.size === 0) break;
      await this.#exchange();
    }
    this.#isWatching = false;
  }

  async #change(): Promise<void> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const begun = this.#reading();
      const { book } = await this.#log.newest();
      this.#adopt(book);
      const ticks = ticksOf(this.#clock);
      const isBeatDue = ticks - this.#beatAt.ticks >= BEAT_MS;
      const next = nextBook(book, {
        self: this.#id,
        beat: this.#beat + 1,
        isBeatDue,
        isClosing: this.#ending.signal.aborted,
        keys: this.#keys,
        ticks,
        ended: this.#ended(book, ticks),
        rested: this.#rested(book, ticks),
      });
      const asked = new Map([...this.#keys].map(([name, { wanted }]) => [name, wanted]));
      if (next.book === undefined) return this.#settle(asked, next.taken, ticks);
      // Permits that are given up are no longer used, even if it is unknown whether the change was made.
      for (const [name, given] of next.given) (this.#keys.get(name) as Key).permits -= given.permits;
      if (await this.#log.append(next.book)) {
        this.#beat++;
        this.#beatAt = begun;
        for (const [name, given] of next.given) this.#keys.get(name)?.uses.forgetUntil(given.usesUntil);
        for (const [name, taken] of next.taken) (this.#keys.get(name) as Key).permits += taken;
        return this.#settle(asked, next.taken, ticks);
      }
      await this.#clock.sleep(randomInt(1, 50 * Math.min(attempt, 4)));
    }
    throw new Error(`other processes have changed the count of requests at ${MAX_ATTEMPTS} attempts`);
  }

  /** Marks demands as served. If there were not enough permits, the book is not read again for some time. */
  #settle(asked: ReadonlyMap<string, number>, taken: ReadonlyMap<string, number>, ticks: number): void {
    for (const [name, wanted] of asked) {
      const key = this.#keys.get(name) as Key;
      key.wanted -= wanted;
      if ((taken.get(name) ?? 0) < wanted) key.quietUntil = ticks + ASK_AGAIN_MS;
    }
  }

  /** Takes over the numbers in the book: a change whose outcome was unknown may have been made. */
  #adopt({ holders, resting }: PermitBook): void {
    const ticks = ticksOf(this.#clock);
    const own = holders[this.#id];
    for (const [name, key] of this.#keys) {
      const permits = (own && Object.hasOwn(own.keys, name) ? own.keys[name]?.permits : 0) ?? 0;
      // Other processes considered this one ended: its permits rest, together with their uses.
      if (own === undefined) key.uses.forgetUntil(Number.POSITIVE_INFINITY);
      key.permits = permits;
      const others = Object.entries(holders).flatMap(([id, { keys }]) =>
        id !== this.#id && Object.hasOwn(keys, name) ? [keys[name]] : [],
      );
      key.isShared = others.length > 0 || Object.values(resting).some((one) => one.key === name);
      if (others.some((other) => (other?.wanted ?? 0) > 0)) key.wantedAt = ticks;
    }
    this.#beat = Math.max(this.#beat, own?.beat ?? 0);
    for (const [id, { beat }] of Object.entries(holders))
      if (this.#beats.get(id)?.beat !== beat) this.#beats.set(id, { beat, at: ticks });
    for (const id of this.#beats.keys()) if (!Object.hasOwn(holders, id)) this.#beats.delete(id);
    for (const id of Object.keys(resting)) if (!this.#restsSince.has(id)) this.#restsSince.set(id, ticks);
    for (const id of this.#restsSince.keys()) if (!Object.hasOwn(resting, id)) this.#restsSince.delete(id);
  }

  #ended({ holders }: PermitBook, ticks: number): Set<string> {
    const hasEnded = ([id, { owner }]: [string, PermitBook["holders"][string]]): boolean =>
      id !== this.#id &&
      (ticks - (this.#beats.get(id)?.at ?? ticks) >= STALE_MS || stateOf(owner) === "ended");
    return new Set(Object.entries(holders).flatMap((one) => (hasEnded(one) ? [one[0]] : [])));
  }

  #rested({ resting }: PermitBook, ticks: number): Set<string> {
    const over = Object.entries(resting).filter(
      ([id, { forMs }]) => ticks - (this.#restsSince.get(id) ?? ticks) >= forMs,
    );
    return new Set(over.map(([id]) => id));
  }

  #forgetIdle(): void {
    const ticks = ticksOf(this.#clock);
    for (const [name, key] of this.#keys)
      if (key.permits === 0 && key.wanted === 0 && key.uses.countAt(ticks) === 0 && ticks >= key.quietUntil)
        this.#keys.delete(name);
  }

  get #isValid(): boolean {
    const { ticks, now } = this.#reading();
    return Math.max(ticks - this.#beatAt.ticks, now - this.#beatAt.now) < VALID_MS;
  }

  #reading(): { readonly ticks: number; readonly now: number } {
    return { ticks: ticksOf(this.#clock), now: this.#clock.now() };
  }
}

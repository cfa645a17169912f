import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { UsageError } from "../../core/errors.js";
import { releaseAfter } from "../../core/release-after.js";
import { type Clock, MINUTE_MS } from "../../core/time.js";
import type { LeaseStore } from "../../lease/lease-store.js";
import { type Lease, type LeaseKind, Leases, type OwnLease } from "../../lease/leases.js";
import { nameOfOwner, type Owner, ownerShape, thisProcess } from "../../lease/owner.js";
import { divideQuota } from "../../plan/quota/divide-quota.js";

/** A holder that was silent for this time no longer has its part. */
const STALE_SHARE_MS = 60_000;
/** The clock of a store may have whole seconds only, and two of its times are compared. */
const STORE_CLOCK_MS = 1000;
/** Parts are divided in floating point. */
const ROUNDING = 1e-9;

const shareShape = z.object({
  ...ownerShape.shape,
  /** Identifies the user of the key: it has a record for each part that it has, or asks for. */
  holder: z.string(),
  purpose: z.string(),
  since: z.iso.datetime(),
  /** The largest part that the user asks for. */
  ask: z.number().positive().max(1),
  /** The part that it has, or waits for; 0 for a user that has ended. */
  share: z.number().min(0).max(1),
  /** Requests that count for the user that gets what this one gave up: by group, epoch milliseconds by the store's clock. */
  sent: z.record(z.string(), z.array(z.number())),
  /** Until when a user that died may have sent requests with its part. */
  died: z.object({ share: z.number(), at: z.number() }).optional(),
});

/** When requests were sent, as epoch milliseconds, ascending, by group of endpoints. */
type Sent = Readonly<Partial<Record<string, readonly number[]>>>;

/** What others have sent with a part of a key before this process got it. */
export interface Taken {
  readonly sent: Sent;
  /** Parts of users that died, and the latest time of their requests. */
  readonly died: readonly { readonly share: number; readonly at: number }[];
}

/** A part of a key's quota, as all users of the key see it. The key itself is in no record. */
type ShareRecord = Readonly<z.infer<typeof shareShape>>;

/** The owner in the record of a user that has ended: it counts until it is stale. */
export const ENDED: Owner & { readonly machine: string } = { host: "", pid: 0, machine: "ended" };

/** The records in a store. A user that removes the record of a dead one first records what that one may have sent. */
function shareKind(store: LeaseStore): LeaseKind<ShareRecord> {
  return {
    content: shareShape,
    ownerOf: (content) => content,
    staleMs: STALE_SHARE_MS,
    async onEnded({ id, state, content, renewedAt }) {
      const gone = `${id}-ended`;
      if (content.share === 0 || state === "waiting" || (await store.read(gone)) !== undefined) return;
      // Nothing is sent with a part that others may take.
      const died = { share: content.share, at: Math.min(await store.now(), renewedAt + STALE_SHARE_MS) };
      await store.create(gone, JSON.stringify({ ...content, ...ENDED, share: 0, died }), "acquired");
    },
  };
}

/** The part of each user: of several records, those of a change, the largest one. */
function partsOf(records: readonly Lease<ShareRecord>[]): Map<string, ShareRecord> {
  const parts = new Map<string, ShareRecord>();
  for (const { content } of records) {
    if (content.share > (parts.get(content.holder)?.share ?? 0)) parts.set(content.holder, content);
  }
  return parts;
}

function fitsBeside(share: number, others: readonly Lease<ShareRecord>[]): boolean {
  let sum = share;
  for (const part of partsOf(others).values()) sum += part.share;
  return sum <= 1 + ROUNDING;
}

/** Times of this machine's clock, now and by the store's clock. */
interface TwoClocks {
  readonly here: number;
  readonly store: number;
}

function toStoreTimes(sent: Sent, { here, store }: TwoClocks): ShareRecord["sent"] {
  return Object.fromEntries(
    Object.entries(sent).map(([group, times = []]) => [group, times.map((at) => store - (here - at))]),
  );
}

/** Requests that may still count, by this machine's clock, at the latest times at which they can have been sent. */
function fromStoreTimes(times: readonly number[], { here, store }: TwoClocks): number[] {
  return times
    .map((at) => Math.min(here, here - (store - at) + STORE_CLOCK_MS))
    .filter((at) => at > here - MINUTE_MS - STORE_CLOCK_MS)
    .sort((a, b) => a - b);
}

/**
 * What the users that gave something up, ended or died have sent, and the ids of the records that say so. Own records are
 * among them: what this user gave up before, it may take again.
 *
 * @param counted ids of records that count already.
 */
export async function takenRequests(
  store: LeaseStore,
  clocks: TwoClocks,
  counted: ReadonlySet<string>,
): Promise<Taken & { readonly ids: ReadonlySet<string> }> {
  const ids = new Set<string>();
  const sent: Record<string, number[]> = {};
  const died: { share: number; at: number }[] = [];
  // A record that another user replaces while they are read has a successor: they are listed until none is new.
  for (;;) {
    const added = (await store.ids()).filter((id) => !counted.has(id) && !ids.has(id));
    if (added.length === 0) return { sent, died, ids };
    for (const id of added) {
      const record = await store.read(id);
      ids.add(id);
      const content = record && shareShape.safeParse(parsed(record.text)).data;
      if (content === undefined) continue;
      for (const [group, times] of Object.entries(content.sent))
        (sent[group] ??= []).push(...fromStoreTimes(times, clocks));
      const [at] = fromStoreTimes(content.died === undefined ? [] : [content.died.at], clocks);
      if (content.died !== undefined && at !== undefined) died.push({ share: content.died.share, at });
    }
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function holdersText(records: readonly Lease<ShareRecord>[]): string {
  return [...partsOf(records).values()]
    .map((part) => `"${part.purpose}" (${nameOfOwner(part)}, ${Math.round(part.share * 100)} %)`)
    .join(" and ");
}

/** Time between two reads of the records by a user of the key, in milliseconds, also while it waits for its part. */
const READ_EVERY_MS = 5000;
const WAITING_READ_MS = 1000;
/** Pause before a key whose part cannot be confirmed is tried again. */
const RETRY_MS = 1000;
/** A smaller difference of a part is not worth a change. */
const LEAST_CHANGE = 1e-6;

interface KeySharesOptions {
  /** Where all users of this key store its records. */
  readonly store: LeaseStore;
  readonly host: string;
  /** The largest part that is asked for, above 0, up to 1. @default 1 */
  readonly ask?: number | undefined;
  readonly purpose: string;
  readonly clock: Clock;
  readonly quota: () => SharedQuota;
  /** Called with a message when this user waits for others. */
  readonly onNote?: (text: string) => void;
}

interface SharedQuota {
  readonly sentLately: Sent;
  /**
   * Applies another part.
   *
   * @param taken what others have sent with what was added.
   * @returns whether requests of users that died count.
   */
  setShare(share: number, taken: Taken): boolean;
  /**
   * Applies a smaller part.
   *
   * @returns own requests that no longer count for this part, and so for the users that get the rest.
   */
  giveUp(share: number): Sent;
}

/**
 * A user's part of a key that several processes use, on one machine or on several. A user asks for its part when it is
 * about to send its first request. The parts are divided again only when a user comes, ends or dies: each user reads the
 * records every five seconds, releases what exceeds its part, and takes what is free. A part is a record; to change it is
 * to create the record of the new part and to remove the old one, so that the parts never add up to more than the key.
 *
 * A part that changes hands takes its requests of the last minute with it: the user that gets it counts them as its own.
 * What a user that died has sent is not known, so its part counts as used up for a minute.
 */
export class KeyShares {
  readonly #options: KeySharesOptions;
  readonly #leases: Leases<ShareRecord>;
  readonly #holder = randomUUID();
  readonly #since: string;
  /** Records whose requests were counted already. */
  readonly #counted = new Set<string>();
  readonly #ending = new AbortController();
  readonly #lost = new AbortController();
  #lease: OwnLease | undefined;
  #share = 0;
  /** Requests that count for others, by the store's clock. */
  #given: ShareRecord["sent"] = {};
  #joining: Promise<void> | undefined;
  #watching: Promise<void> = Promise.resolve();

  constructor(options: KeySharesOptions) {
    this.#options = options;
    this.#since = new Date(options.clock.now()).toISOString();
    this.#leases = new Leases(options.store, shareKind(options.store), options.clock);
  }

  /** Aborts with a {@link UsageError} when others took this user for dead. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Whether it is certain that this user has a part now. */
  get isReady(): boolean {
    return this.#lease?.isValid === true;
  }

  /**
   * Waits until it is certain that this user has a part: until others have given it up, and while the store cannot be
   * reached.
   *
   * @throws where the store cannot be reached by a user without a part: the next call asks again; where the part is
   *   lost or was released; the signal's reason.
   */
  async ready(signal?: AbortSignal): Promise<void> {
    while (!this.isReady) {
      this.#ending.signal.throwIfAborted();
      this.lost.throwIfAborted();
      const lease = this.#lease;
      if (lease === undefined) {
        this.#joining ??= this.#join().finally(() => {
          this.#joining = undefined;
        });
        await unlessAborted(this.#joining, signal);
        continue;
      }
      const isThere = await lease.renew().catch(() => undefined);
      // A lease that is gone because the part has changed says nothing about the new one.
      if (lease !== this.#lease) continue;
      if (isThere === false) this.#lose();
      else if (isThere === undefined) await this.#options.clock.sleep(RETRY_MS, signal);
    }
  }

  /**
   * Gives the part up; what was sent lately counts for the user that gets it. If that cannot be recorded, the part is
   * free only when its record is stale, and then counts as used up.
   */
  async release(): Promise<void> {
    const { host } = this.#options;
    this.#ending.abort(new UsageError(`key for ${host} was released`, { hint: "connect again" }));
    await this.#joining?.catch(() => {});
    await this.#watching;
    if (this.#lease !== undefined && !this.#lost.signal.aborted) {
      try {
        await this.#recordSent(this.#lease);
      } catch (error) {
        await this.#leases.abandon();
        throw error;
      }
    }
    await this.#leases.close();
  }

  async #recordSent({ id }: OwnLease): Promise<void> {
    const sent = bothSent(this.#given, toStoreTimes(this.#options.quota().sentLately, await this.#clocks()));
    if (Object.values(sent).every((times) => times.length === 0)) return;
    const text = JSON.stringify({ ...this.#record(0, sent), ...ENDED });
    await this.#options.store.create(`${id}-ended`, text, "acquired");
  }

  async #watch(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#ending;
    // A program may end without having released its key.
    const pause =
      clock.idle?.bind(clock) ?? ((ms, ended) => delay(ms, undefined, { ref: false, signal: ended }));
    while (!this.#lost.signal.aborted) {
      await pause(READ_EVERY_MS, signal).catch(() => {});
      if (signal.aborted) return;
      // Where the store cannot be reached, the part becomes invalid in time.
      await this.#readShares().catch(() => {});
    }
  }

  async #join(): Promise<void> {
    try {
      await this.#acquire();
    } catch (error) {
      await this.#leases.close().catch(() => {});
      throw error;
    }
    this.#watching = this.#watch();
  }

  /** Waits for a part of the key: others give it up when they see that this user waits. */
  async #acquire(): Promise<void> {
    const { clock, host, onNote } = this.#options;
    const { signal } = this.#ending;
    let own: OwnLease | undefined;
    let share = 0;
    let reported = "";
    for (;;) {
      signal.throwIfAborted();
      const target = this.#targetBeside(await this.#others());
      if (own === undefined || target < share - LEAST_CHANGE || !(await own.renew())) {
        await own?.release();
        own = await this.#leases.add(this.#record(target), { state: "waiting" });
        share = target;
      }
      const others = await this.#others();
      const isFair = share <= this.#targetBeside(others) + LEAST_CHANGE;
      if (isFair && fitsBeside(share, others) && (await own.acquire())) break;
      const holders = holdersText(others);
      if (isFair && holders !== reported)
        onNote?.(`the key for ${host} is used by ${(reported = holders)}: waiting for a part of it`);
      await clock.sleep(WAITING_READ_MS, signal);
    }
    if (await this.#hold(own, share))
      onNote?.(
        `a user of the key for ${host} ended without giving its part up, which counts as used for up to a minute`,
      );
  }

  async #readShares(): Promise<void> {
    if ((await this.#lease?.renew()) === false) return this.#lose();
    const others = await this.#others();
    const target = this.#targetBeside(others);
    if (target < this.#share - LEAST_CHANGE) await this.#give(target);
    else if (target > this.#share + LEAST_CHANGE && fitsBeside(target, others)) await this.#grow(target);
  }

  /** The records of the other users; not one of this user that was created although the call failed. */
  async #others(): Promise<Lease<ShareRecord>[]> {
    return (await this.#leases.others()).filter(({ content }) => content.holder !== this.#holder);
  }

  /** The part that this user should have, as all users calculate it. */
  #targetBeside(others: readonly Lease<ShareRecord>[]): number {
    const ask = this.#options.ask ?? 1;
    const parts = divideQuota([...partsOf(others).values(), { holder: this.#holder, ask }]);
    return parts.get(this.#holder) ?? 0;
  }

  /** Gives up a part: first nothing more is sent with it, then others see it. */
  async #give(share: number): Promise<void> {
    const before = this.#lease;
    const clocks = await this.#clocks();
    const excess = this.#options.quota().giveUp(share);
    const given = bothSent(this.#given, toStoreTimes(excess, clocks));
    let own: OwnLease;
    try {
      own = await this.#leases.add(this.#record(share, given));
    } catch (error) {
      // No other user knows of these requests, so they count here again.
      this.#options.quota().setShare(this.#share, { sent: excess, died: [] });
      throw error;
    }
    // If others have taken this user for dead, they have its part.
    if ((await before?.renew().catch(() => undefined)) === false) return own.release();
    this.#given = given;
    this.#own(own, share);
    await before?.release();
  }

  /** Takes a part that is free, unless another user is about to take it. */
  async #grow(share: number): Promise<void> {
    const before = this.#lease;
    const own = await this.#leases.add(this.#record(share), { state: "waiting" });
    let isHeld = false;
    await releaseAfter(
      async () => {
        const others = await this.#others();
        const isFree = fitsBeside(share, others) && share <= this.#targetBeside(others) + LEAST_CHANGE;
        if (!isFree || !(await own.acquire())) return;
        await this.#hold(own, share);
        isHeld = true;
      },
      () => (isHeld ? undefined : own.release()),
    );
    if (isHeld) await before?.release();
  }

  /** Has a part from now on, and counts what was sent with it before. @returns whether users that died count. */
  async #hold(own: OwnLease, share: number): Promise<boolean> {
    const { store, clock, quota } = this.#options;
    // The time here is read last: a slow call of the store lets no request seem older than it is.
    const clocks = { store: await store.now(), here: clock.now() };
    const { ids, ...taken } = await takenRequests(store, clocks, this.#counted);
    for (const id of ids) this.#counted.add(id);
    this.#given = {};
    this.#own(own, share);
    return quota().setShare(share, taken);
  }

  #own(lease: OwnLease, share: number): void {
    [this.#lease, this.#share] = [lease, share];
    const lose = (): void => {
      if (this.#lease === lease) this.#lose();
    };
    if (lease.lost.aborted) lose();
    else lease.lost.addEventListener("abort", lose, { once: true });
  }

  #record(share: number, sent: ShareRecord["sent"] = {}): ShareRecord {
    const { ask = 1, purpose } = this.#options;
    return { ...thisProcess(), holder: this.#holder, purpose, since: this.#since, ask, share, sent };
  }

  /** The time here is read first: a slow call of the store lets no request that is recorded seem older than it is. */
  async #clocks(): Promise<TwoClocks> {
    return { here: this.#options.clock.now(), store: await this.#options.store.now() };
  }

  #lose(): void {
    const { host } = this.#options;
    this.#lost.abort(
      new UsageError(`key for ${host} was taken over: this process gave no sign of life for too long`, {
        hint: "run it again; it goes on where it stopped",
      }),
    );
  }
}

function bothSent(one: Sent, other: Sent): Record<string, number[]> {
  const groups = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries(
    [...groups].map((group) => [group, [...(one[group] ?? []), ...(other[group] ?? [])]]),
  );
}

/** The result of a promise. @throws the signal's reason if that aborts first. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  signal?.throwIfAborted();
  const over = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason as Error), {
      once: true,
      signal: over.signal,
    });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    over.abort();
  }
}

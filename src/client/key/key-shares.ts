import { randomUUID } from "node:crypto";
import { UsageError } from "../../core/errors.js";
import { releaseAfter } from "../../core/release-after.js";
import type { Clock } from "../../core/time.js";
import type { LeaseStore } from "../../lease/lease-store.js";
import { type Lease, Leases, type OwnLease } from "../../lease/leases.js";
import { thisProcess } from "../../lease/owner.js";
import { divideQuota } from "../../plan/quota/divide-quota.js";
import type { Sent } from "./key-claims.js";
import {
  ENDED,
  fitsBeside,
  holdersText,
  partsOf,
  type ShareRecord,
  shareKind,
  type Taken,
  type TwoClocks,
  takenRequests,
  toStoreTimes,
} from "./key-share-records.js";

/** Time between two reads of the records by a user of the key, in milliseconds, also while it waits for its part. */
const READ_EVERY_MS = 5000;
const WAITING_READ_MS = 1000;
/** Pause before a key whose part cannot be confirmed is tried again. */
const RETRY_MS = 1000;
/** A smaller difference of a part is not worth a change. */
const LEAST_CHANGE = 1e-6;

interface KeySharesOptions {
  /** Where all machines store the records of this key. */
  readonly store: LeaseStore;
  /** Host of the service, for messages. */
  readonly host: string;
  /** The largest part that is asked for, above 0, up to 1. @default 1 */
  readonly ask?: number | undefined;
  /** What the key is used for, shown to others. */
  readonly purpose: string;
  readonly clock: Clock;
  /** Ends the wait for a part. */
  readonly signal?: AbortSignal | undefined;
  /** Called while others have the whole key, with their names. */
  readonly onWait?: (holders: string) => void;
}

/** The quota that a part of the key applies to. */
interface SharedQuota {
  readonly sentLately: Sent;
  /** Applies another part. @param taken what others have sent with what was added. */
  setShare(share: number, taken: Taken): void;
  /**
   * Applies a smaller part.
   *
   * @returns own requests that no longer count for this part, and so for the users that get the rest.
   */
  giveUp(share: number): Sent;
}

/**
 * A user's part of a key that several machines use. The parts are divided again only when a user comes, ends or dies: each
 * user reads the records every five seconds, releases what exceeds its part, and takes what is free. A part is a record; to change it is
 * to create the record of the new part and to remove the old one, so that the parts never add up to more than the key.
 *
 * A part that changes hands takes its requests of the last minute with it: the user that gets it counts them as its own.
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
  #quota: SharedQuota | undefined;
  #first: Taken = { sent: {}, died: [] };
  /** Requests that count for others, by the store's clock. */
  #given: ShareRecord["sent"] = {};
  #watching: Promise<void> = Promise.resolve();

  private constructor(options: KeySharesOptions) {
    this.#options = options;
    this.#since = new Date(options.clock.now()).toISOString();
    this.#leases = new Leases(options.store, shareKind(options.store), options.clock);
  }

  /** Waits for a part of the key: others give it up when they see that this user waits. @throws the signal's reason. */
  static async join(options: KeySharesOptions): Promise<KeyShares> {
    const shares = new KeyShares(options);
    try {
      await shares.#join();
      return shares;
    } catch (error) {
      await shares.#leases.close().catch(() => {});
      throw error;
    }
  }

  /** The current part. */
  get share(): number {
    return this.#share;
  }

  /** Aborts with a {@link UsageError} when others took this user for dead. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Whether it is certain that this user has the part now. */
  get isReady(): boolean {
    return this.#lease?.isValid === true;
  }

  /** Applies the part to a quota, now and whenever it changes. */
  watch(quota: SharedQuota): void {
    this.#quota = quota;
    quota.setShare(this.#share, this.#first);
    this.#watching = this.#watch();
  }

  /** Waits until it is certain that this user has the part: while the store cannot be reached, nothing may be sent. */
  async ready(signal?: AbortSignal): Promise<void> {
    while (!this.isReady) {
      this.lost.throwIfAborted();
      const lease = this.#lease;
      const isThere = await lease?.renew().catch(() => undefined);
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
    this.#ending.abort();
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
    const sent = bothSent(this.#given, toStoreTimes(this.#quota?.sentLately ?? {}, await this.#clocks()));
    if (Object.values(sent).every((times) => times.length === 0)) return;
    const text = JSON.stringify({ ...this.#record(0, sent), ...ENDED });
    await this.#options.store.create(`${id}-ended`, text, "acquired");
  }

  async #watch(): Promise<void> {
    const { clock } = this.#options;
    while (!this.#ending.signal.aborted && !this.#lost.signal.aborted) {
      await clock.sleep(READ_EVERY_MS, this.#ending.signal).catch(() => {});
      if (this.#ending.signal.aborted) return;
      // Where the store cannot be reached, the part becomes invalid in time.
      await this.#readShares().catch(() => {});
    }
  }

  async #join(): Promise<void> {
    const { clock, signal, onWait } = this.#options;
    let own: OwnLease | undefined;
    let share = 0;
    let reported = "";
    for (;;) {
      signal?.throwIfAborted();
      const target = this.#targetBeside(await this.#others());
      if (own === undefined || target < share - LEAST_CHANGE || !(await own.renew())) {
        await own?.release();
        own = await this.#leases.add(this.#record(target), { state: "waiting" });
        share = target;
      }
      const others = await this.#others();
      const isFair = share <= this.#targetBeside(others) + LEAST_CHANGE;
      if (isFair && fitsBeside(share, others) && (await own.acquire())) return this.#hold(own, share);
      const holders = holdersText(others);
      if (isFair && holders !== reported) onWait?.((reported = holders));
      await clock.sleep(WAITING_READ_MS, signal);
    }
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
    const excess = this.#quota?.giveUp(share) ?? {};
    const given = bothSent(this.#given, toStoreTimes(excess, clocks));
    let own: OwnLease;
    try {
      own = await this.#leases.add(this.#record(share, given));
    } catch (error) {
      // No other user knows of these requests, so they count here again.
      this.#quota?.setShare(this.#share, { sent: excess, died: [] });
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

  /** Has a part from now on, and counts what was sent with it before. */
  async #hold(own: OwnLease, share: number): Promise<void> {
    const { store, clock } = this.#options;
    // The time here is read last: a slow call of the store lets no request seem older than it is.
    const clocks = { store: await store.now(), here: clock.now() };
    const { ids, ...taken } = await takenRequests(store, clocks, this.#counted);
    for (const id of ids) this.#counted.add(id);
    this.#given = {};
    this.#own(own, share);
    if (this.#quota === undefined) this.#first = taken;
    else this.#quota.setShare(share, taken);
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

/** The requests of two lists, by group. */
function bothSent(one: Sent, other: Sent): Record<string, number[]> {
  const groups = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries(
    [...groups].map((group) => [group, [...(one[group] ?? []), ...(other[group] ?? [])]]),
  );
}

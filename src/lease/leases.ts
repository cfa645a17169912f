import type { z } from "zod";
import type { Clock } from "../core/time.js";
import type { LeaseState, LeaseStore } from "./lease-store.js";
import { type OwnLease, type OwnLeaseOptions, OwnLeases, RENEW_MS } from "./own-leases.js";
import { type Owner, stateOf } from "./owner.js";

export type { OwnLease, OwnLeaseOptions };

/**
 * Time in milliseconds, before a lease becomes stale, in which its owner no longer relies on it. A step that began just
 * before has this long to end; a store's clock may also have a resolution of one second.
 */
const MARGIN_MS = 2 * RENEW_MS;

/** The content of the records of one kind of lease, and the rules for when their owners count as alive. */
export interface LeaseKind<T> {
  readonly content: z.ZodType<T>;
  readonly ownerOf: (content: T) => Owner;
  /** Time in milliseconds without a renewal after which an owner counts as ended. */
  readonly staleMs: number;
  /**
   * Whether a running process of this machine counts as alive even without renewals. The id of an ended process may be
   * used again by another one, so this is only for short leases.
   *
   * @default false
   */
  readonly trustsProcess?: boolean;
  /**
   * Called before the lease of an ended owner is removed. If it throws, the lease remains and counts.
   *
   * @default nothing is done
   */
  readonly onEnded?: (lease: EndedLease<T>) => Promise<void>;
}

export interface Lease<T> {
  readonly id: string;
  readonly content: T;
  readonly state: LeaseState;
}

/** A lease with the time of its last renewal, in epoch milliseconds by the clock of the store. */
interface EndedLease<T> extends Lease<T> {
  readonly renewedAt: number;
}

/**
 * The leases of one kind: those of this process, which it renews, and those of others. A process creates its record
 * first, and then reads the records of others; if they conflict, it withdraws its record. Of any two processes at
 * least one sees the other, so two conflicting processes never both proceed.
 *
 * An owner counts as ended if its process on this machine has ended, or if it has not renewed its lease for `staleMs`
 * by the clock of the store. A process of this machine that still runs gets the time of two more renewals, because
 * after a suspension of the machine, or a step of its clock, the next renewal is late.
 */
export class Leases<T> {
  readonly #store: LeaseStore;
  readonly #kind: LeaseKind<T>;
  readonly #clock: Clock;
  readonly #own: OwnLeases;
  /** Contents of the records of others, which never change. */
  readonly #known = new Map<string, T>();

  constructor(store: LeaseStore, kind: LeaseKind<T>, clock: Clock) {
    this.#store = store;
    this.#kind = kind;
    this.#clock = clock;
    this.#own = new OwnLeases(store, kind.staleMs - MARGIN_MS, clock);
  }

  /** Creates a lease, even where leases of others conflict. */
  add(content: T, options: OwnLeaseOptions = {}): Promise<OwnLease> {
    return this.#own.add(JSON.stringify(content), options);
  }

  /** Takes over the renewals of a lease whose record was already created for this process. */
  adopt(id: string, content: T, options: Omit<OwnLeaseOptions, "id"> = {}): OwnLease {
    return this.#own.adopt(JSON.stringify(content), { ...options, id });
  }

  /** The leases of living owners that matter. Of the leases that matter, those of ended owners are removed. */
  async others(matters: (content: T) => boolean = () => true): Promise<Lease<T>[]> {
    const ids = await this.#store.ids();
    const there = new Set(ids);
    for (const id of this.#known.keys()) if (!there.has(id)) this.#known.delete(id);
    const found: EndedLease<T>[] = [];
    for (const id of ids) {
      if (this.#own.has(id)) continue;
      const known = this.#known.get(id);
      if (known !== undefined && !matters(known)) continue;
      const one = await this.#find(id, known);
      if (one !== undefined && matters(one.content)) found.push(one);
    }
    return this.#withoutEnded(found);
  }

  /** Whether the owner of a record is alive; false where there is no such record, or it cannot be read. */
  async isAlive(id: string): Promise<boolean> {
    const one = await this.#find(id);
    return one !== undefined && (await this.#ended([one])).length === 0;
  }

  /** Ends the renewals of this process, and removes no record: its owner counts as ended when the records are stale. */
  abandon(): Promise<void> {
    return this.#own.abandon();
  }

  /** Releases every lease of this process. No renewal is in flight afterwards. */
  close(): Promise<void> {
    return this.#own.close();
  }

  async #find(id: string, known?: T): Promise<EndedLease<T> | undefined> {
    const record = await this.#store.read(id);
    if (record === undefined) return undefined;
    const content = known ?? this.#parse(record.text);
    // A record that cannot be read does not count.
    if (content === undefined) return undefined;
    this.#known.set(id, content);
    return { id, content, state: record.state, renewedAt: record.renewedAt };
  }

  #parse(text: string): T | undefined {
    try {
      return this.#kind.content.parse(JSON.parse(text));
    } catch {
      return undefined;
    }
  }

  async #withoutEnded(found: readonly EndedLease<T>[]): Promise<Lease<T>[]> {
    const ended = new Set(await this.#ended(found));
    const living = found.filter((one) => !ended.has(one));
    for (const one of ended) {
      const isDone = await this.#kind.onEnded?.(one).then(
        () => true,
        () => false,
      );
      // An owner that has just renewed its lease is alive.
      if (isDone === false || !(await this.#store.remove(one.id, one.renewedAt))) living.push(one);
    }
    return living;
  }

  async #ended(found: readonly EndedLease<T>[]): Promise<EndedLease<T>[]> {
    const { ownerOf, trustsProcess, staleMs } = this.#kind;
    const judged = found.map((one) => ({ one, process: stateOf(ownerOf(one.content)) }));
    const ended = judged.filter(({ process }) => process === "ended").map(({ one }) => one);
    const open = judged.filter(
      ({ process }) => process === "unknown" || (process === "running" && !trustsProcess),
    );
    if (open.length === 0) return ended;
    // If the time is unknown, every owner counts as alive.
    const now = await this.#store.now().catch(() => Number.NEGATIVE_INFINITY);
    const silent = open.filter(({ one }) => now - one.renewedAt > staleMs);
    ended.push(...silent.filter(({ process }) => process === "unknown").map(({ one }) => one));
    const here = silent.filter(({ process }) => process === "running");
    if (here.length > 0) await this.#clock.sleep(2 * RENEW_MS);
    for (const { one } of here) {
      const record = await this.#store.read(one.id);
      if (record === undefined || record.renewedAt === one.renewedAt) ended.push(one);
    }
    return ended;
  }
}

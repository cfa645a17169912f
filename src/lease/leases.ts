import { randomUUID } from "node:crypto";
import type { z } from "zod";
import type { Clock } from "../core/time.js";
import type { LeaseRecord, LeaseState, LeaseStore } from "./lease-store.js";
import { type Owner, stateOf } from "./owner.js";

/** Time between two renewals of a lease by its owner. */
const RENEW_MS = 5000;

/** What the records of one kind of lease contain, and when their owners count as alive. */
export interface LeaseKind<T> {
  readonly content: z.ZodType<T>;
  readonly ownerOf: (content: T) => Owner;
  /** Time without a renewal after which an owner counts as ended. */
  readonly staleMs: number;
  /**
   * Whether a running process of this machine counts as alive without renewals, too. The id of a process that ended may
   * be used again, so this is for leases that are kept for a short time.
   *
   * @default false
   */
  readonly trustsProcess?: boolean;
  /** The content that is assumed for a record that cannot be read. @default such a record does not count */
  readonly assumed?: (record: LeaseRecord) => T;
}

/** A lease of another process that is alive, as far as can be seen. */
export interface Lease<T> {
  readonly id: string;
  readonly content: T;
  readonly state: LeaseState;
}

/** A lease of this process. It is renewed until it is released. */
export interface OwnLease {
  readonly id: string;
  /** Aborts when the lease is found lost: another process took this one for ended, and removed it. */
  readonly lost: AbortSignal;
  /** Renews the lease now, and makes it an acquired one. @returns false where it is lost. */
  acquire(): Promise<boolean>;
  /** Renews the lease now. @returns false where it is lost. */
  renew(): Promise<boolean>;
  release(): Promise<void>;
}

export interface OwnLeaseOptions {
  /** @default "acquired" */
  readonly state?: LeaseState;
  /** @default a new id */
  readonly id?: string;
  /** Whether a lease that another process removed is created again at the next renewal. @default false: it is lost */
  readonly isRestored?: boolean;
  /** Called after each periodic renewal, with the id of the lease. */
  readonly onRenewed?: (id: string) => Promise<void>;
}

interface OwnRecord extends OwnLeaseOptions {
  readonly id: string;
  readonly text: string;
  readonly lost: AbortController;
  state: LeaseState;
  isCreated: boolean;
}

interface Found<T> extends Lease<T> {
  readonly renewedAt: number;
}

/**
 * The leases of one kind: those of this process, which it renews, and those of others. A process creates its record
 * first, and then looks for the records of others; where they conflict, it withdraws its own. Of any two processes at
 * least one sees the other, so never do both go on. It is a class because it owns records and a timer.
 *
 * An owner counts as ended where its process, on this machine, has ended, or where it has not renewed its lease for
 * `staleMs` by the clock of the store. A process of this machine that still runs gets the time of two more renewals:
 * after a suspend of the machine, or a step of its clock, the next one comes late.
 */
export class Leases<T> {
  readonly #store: LeaseStore;
  readonly #kind: LeaseKind<T>;
  readonly #clock: Pick<Clock, "sleep">;
  readonly #own = new Map<string, OwnRecord>();
  /** Contents of the records of others: they never change. */
  readonly #known = new Map<string, T>();
  #timer: NodeJS.Timeout | undefined;

  constructor(store: LeaseStore, kind: LeaseKind<T>, clock: Pick<Clock, "sleep">) {
    this.#store = store;
    this.#kind = kind;
    this.#clock = clock;
  }

  /** Creates a lease, also where others have leases that conflict. */
  async add(content: T, options: OwnLeaseOptions = {}): Promise<OwnLease> {
    const own = this.#register(content, options);
    try {
      await this.#store.create(own.id, own.text, own.state);
    } catch (error) {
      this.#forget(own.id);
      throw error;
    }
    return this.#kept(own);
  }

  /** Keeps a lease whose record was created for this process already. */
  adopt(id: string, content: T, options: Omit<OwnLeaseOptions, "id"> = {}): OwnLease {
    return this.#kept(this.#register(content, { ...options, id }));
  }

  /** Creates a lease, and withdraws it where another one conflicts. @returns undefined in this case. */
  async tryTake(
    content: T,
    conflicts: (other: T) => boolean,
    options?: OwnLeaseOptions,
  ): Promise<OwnLease | undefined> {
    const own = await this.add(content, options);
    let isTaken = true;
    try {
      isTaken = (await this.others(conflicts)).length > 0;
    } finally {
      if (isTaken) await own.release();
    }
    return isTaken ? undefined : own;
  }

  /** The leases of others that are alive and matter. Of those that matter, the ones of ended owners are removed. */
  async others(matters: (content: T) => boolean = () => true): Promise<Lease<T>[]> {
    const ids = await this.#store.ids();
    const there = new Set(ids);
    for (const id of this.#known.keys()) if (!there.has(id)) this.#known.delete(id);
    const found: Found<T>[] = [];
    for (const id of ids) {
      if (this.#own.has(id)) continue;
      const known = this.#known.get(id);
      if (known !== undefined && !matters(known)) continue;
      const one = await this.#find(id, known);
      if (one !== undefined && matters(one.content)) found.push(one);
    }
    return this.#withoutEnded(found);
  }

  /** Whether the owner of a record is alive. False where there is no such record, or where it cannot be read. */
  async isAlive(id: string): Promise<boolean> {
    const one = await this.#find(id);
    return one !== undefined && (await this.#ended([one])).length === 0;
  }

  /** Releases every lease of this process. */
  async close(): Promise<void> {
    for (const id of this.#own.keys()) await this.#release(id);
  }

  #register(content: T, { id = randomUUID(), state = "acquired", ...options }: OwnLeaseOptions): OwnRecord {
    const lost = new AbortController();
    const own = { ...options, id, text: JSON.stringify(content), lost, state, isCreated: false };
    this.#own.set(id, own);
    return own;
  }

  #kept(own: OwnRecord): OwnLease {
    own.isCreated = true;
    this.#timer ??= setInterval(() => void this.#renewAll(), RENEW_MS).unref();
    const renew = async (state: LeaseState): Promise<boolean> => {
      own.state = state;
      const isThere = await this.#store.renew(own.id, state);
      if (!isThere) this.#lose(own);
      return isThere;
    };
    return {
      id: own.id,
      lost: own.lost.signal,
      acquire: () => renew("acquired"),
      renew: () => renew(own.state),
      release: () => this.#release(own.id),
    };
  }

  async #renewAll(): Promise<void> {
    for (const own of this.#own.values()) {
      if (!own.isCreated) continue;
      // A renewal that fails, for example on a full disk, is made up for by the next one, or the lease becomes stale.
      await this.#renew(own).catch(() => {});
      await own.onRenewed?.(own.id).catch(() => {});
    }
  }

  async #renew(own: OwnRecord): Promise<void> {
    if ((await this.#store.renew(own.id, own.state)) || !this.#own.has(own.id)) return;
    if (own.isRestored !== true) return this.#lose(own);
    await this.#store.create(own.id, own.text, own.state);
    // A lease that was released in the meantime stays removed.
    if (!this.#own.has(own.id)) await this.#store.remove(own.id);
  }

  #lose(own: OwnRecord): void {
    this.#forget(own.id);
    own.lost.abort();
  }

  #forget(id: string): void {
    this.#own.delete(id);
    if (this.#own.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #release(id: string): Promise<void> {
    this.#forget(id);
    await this.#store.remove(id);
  }

  async #find(id: string, known?: T): Promise<Found<T> | undefined> {
    const record = await this.#store.read(id);
    if (record === undefined) return undefined;
    const content = known ?? this.#parse(record.text);
    if (content !== undefined) this.#known.set(id, content);
    const { state, renewedAt } = record;
    const isKnown = content ?? this.#kind.assumed?.(record);
    return isKnown === undefined ? undefined : { id, content: isKnown, state, renewedAt };
  }

  #parse(text: string): T | undefined {
    try {
      return this.#kind.content.parse(JSON.parse(text));
    } catch {
      return undefined;
    }
  }

  async #withoutEnded(found: readonly Found<T>[]): Promise<Lease<T>[]> {
    const ended = new Set(await this.#ended(found));
    const living = found.filter((one) => !ended.has(one));
    for (const one of ended) {
      // An owner that renewed its lease in the last instant is alive.
      if (!(await this.#store.remove(one.id, one.renewedAt))) living.push(one);
    }
    return living;
  }

  /** The leases whose owners have ended. */
  async #ended(found: readonly Found<T>[]): Promise<Found<T>[]> {
    const { ownerOf, trustsProcess, staleMs } = this.#kind;
    const judged = found.map((one) => ({ one, process: stateOf(ownerOf(one.content)) }));
    const ended = judged.filter(({ process }) => process === "ended").map(({ one }) => one);
    const open = judged.filter(
      ({ process }) => process === "unknown" || (process === "running" && !trustsProcess),
    );
    if (open.length === 0) return ended;
    // Where the time is unknown, every owner counts as alive.
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

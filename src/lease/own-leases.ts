import { randomUUID } from "node:crypto";
import { firstOf } from "../core/release-after.js";
import { type Clock, ticksOf } from "../core/time.js";
import type { LeaseState, LeaseStore } from "./lease-store.js";

/** Time between two renewals of a lease by its owner, in milliseconds. */
export const RENEW_MS = 5000;

/** A lease of this process. It is renewed until it is released. */
export interface OwnLease {
  readonly id: string;
  /** Aborts when the lease is found to be lost: another process considered this one ended, and removed the lease. */
  readonly lost: AbortSignal;
  /**
   * Whether the last renewal is recent enough that no other process can consider this one ended. This needs no request,
   * so it can be checked before each step that the lease permits.
   */
  readonly isValid: boolean;
  /** Renews the lease now, and sets its state to acquired. @returns false where it is lost. */
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
}

interface OwnRecord extends OwnLeaseOptions {
  readonly id: string;
  readonly text: string;
  readonly lost: AbortController;
  state: LeaseState;
  isCreated: boolean;
  /** When the last successful renewal began, by both clocks. */
  renewed: Reading;
  /** The periodic renewal in flight. It never rejects. */
  renewing: Promise<void> | undefined;
}

interface Reading {
  readonly ticks: number;
  readonly now: number;
}

export class OwnLeases {
  readonly #store: LeaseStore;
  readonly #validMs: number;
  readonly #clock: Pick<Clock, "now" | "monotonic">;
  readonly #own = new Map<string, OwnRecord>();
  #timer: NodeJS.Timeout | undefined;

  /** @param validMs time in milliseconds after a renewal during which the lease counts as valid. */
  constructor(store: LeaseStore, validMs: number, clock: Pick<Clock, "now" | "monotonic">) {
    this.#store = store;
    this.#validMs = validMs;
    this.#clock = clock;
  }

  has(id: string): boolean {
    return this.#own.has(id);
  }

  async add(text: string, options: OwnLeaseOptions): Promise<OwnLease> {
    const own = this.#register(text, options);
    try {
      await this.#store.create(own.id, own.text, own.state);
    } catch (error) {
      this.#forget(own.id);
      throw error;
    }
    return this.#kept(own);
  }

  /** Takes over the renewals of a lease whose record was already created for this process. */
  adopt(text: string, options: OwnLeaseOptions): OwnLease {
    return this.#kept(this.#register(text, options));
  }

  /** Ends the renewals of every lease, and removes none. */
  async abandon(): Promise<void> {
    const renewing = [...this.#own.values()].flatMap((own) => own.renewing ?? []);
    for (const id of this.#own.keys()) this.#forget(id);
    await Promise.all(renewing);
  }

  /** Releases every lease. @throws the first error, after all releases were tried. */
  async close(): Promise<void> {
    const released = await Promise.allSettled([...this.#own.keys()].map((id) => this.#release(id)));
    const errors = released.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
    if (errors.length > 0) throw firstOf(errors);
  }

  #register(text: string, { id = randomUUID(), state = "acquired", ...options }: OwnLeaseOptions): OwnRecord {
    const [lost, renewed] = [new AbortController(), this.#reading()];
    const own = { ...options, id, text, lost, state, isCreated: false, renewed, renewing: undefined };
    this.#own.set(id, own);
    return own;
  }

  #kept(own: OwnRecord): OwnLease {
    own.isCreated = true;
    this.#timer ??= setInterval(() => this.#renewAll(), RENEW_MS).unref();
    const renew = async (state: LeaseState): Promise<boolean> => {
      // A record that was abandoned is there until it is stale.
      if (!this.#own.has(own.id)) return false;
      own.state = state;
      const isThere = await this.#renewRecord(own);
      if (!isThere) this.#lose(own);
      return isThere;
    };
    const isValid = (): boolean => this.#own.has(own.id) && this.#isRecent(own.renewed);
    return {
      id: own.id,
      lost: own.lost.signal,
      get isValid() {
        return isValid();
      },
      acquire: () => renew("acquired"),
      renew: () => renew(own.state),
      release: () => this.#release(own.id),
    };
  }

  #renewAll(): void {
    for (const own of this.#own.values()) {
      if (!own.isCreated || own.renewing !== undefined) continue;
      own.renewing = this.#renew(own)
        // If it fails, for example because the disk is full, the next one renews the lease, or the lease becomes stale.
        .catch(() => {})
        .finally(() => {
          own.renewing = undefined;
        });
    }
  }

  async #renew(own: OwnRecord): Promise<void> {
    if ((await this.#renewRecord(own)) || !this.#own.has(own.id)) return;
    this.#lose(own);
  }

  async #renewRecord(own: OwnRecord): Promise<boolean> {
    const renewed = this.#reading();
    const isThere = await this.#store.renew(own.id, own.state);
    if (isThere) own.renewed = renewed;
    return isThere;
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

  /** Removes a record after its renewal in flight has ended: a form of a store may renew by writing the record again. */
  async #release(id: string): Promise<void> {
    const renewing = this.#own.get(id)?.renewing;
    this.#forget(id);
    await renewing;
    await this.#store.remove(id);
  }

  #reading(): Reading {
    return { ticks: ticksOf(this.#clock), now: this.#clock.now() };
  }

  /**
   * Whether a renewal is recent. While a machine is suspended its monotonic clock may stop, and the wall clock may be
   * set, so the longer of the two elapsed times is used.
   */
  #isRecent({ ticks, now }: Reading): boolean {
    const reading = this.#reading();
    return Math.max(reading.ticks - ticks, reading.now - now) < this.#validMs;
  }
}

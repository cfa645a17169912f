import { timingSafeEqual } from "node:crypto";
import type { Clock } from "../../core/time.js";
import { hashOf, type KeyRecord, type KeyStore } from "./key-records.js";
import type { Caller, KeyRing } from "./key-ring.js";

/**
 * The text of a key: an id, which is not secret, and a secret. It has no separators at which a double click would end
 * the selection. The secrets of older keys, 32 letters of base64url, remain valid.
 */
const KEY = /^bl_([0-9a-f]{12})_([0-9a-f]{48}|[A-Za-z0-9_-]{32})$/;
/** Longest time that a request waits for changed keys to be read, in milliseconds. */
const PATIENCE_MS = 1000;

/** Keys whose records may change while a service runs. */
export class StoredKeys implements KeyRing {
  readonly #store: KeyStore;
  readonly #clock: Pick<Clock, "now" | "sleep">;
  readonly #onFault: (error: unknown) => void;
  #keys: ReadonlyMap<string, { readonly record: KeyRecord; readonly caller: Caller }> = new Map();
  #stamp = "";
  #checkedAt = Number.NEGATIVE_INFINITY;
  #checking: Promise<void> | undefined;

  private constructor(
    store: KeyStore,
    clock: Pick<Clock, "now" | "sleep">,
    onFault: (error: unknown) => void,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#onFault = onFault;
  }

  /**
   * Reads the keys.
   *
   * @param onFault called when a later read fails; the previous keys then remain valid.
   * @throws {UsageError} where their list is damaged.
   */
  static async open(
    store: KeyStore,
    clock: Pick<Clock, "now" | "sleep">,
    onFault: (error: unknown) => void,
  ): Promise<StoredKeys> {
    const keys = new StoredKeys(store, clock, onFault);
    await keys.#read();
    return keys;
  }

  /** The number of valid keys. */
  get size(): number {
    return this.#keys.size;
  }

  callerOf(key: string): Caller | undefined {
    const [, id = "", secret = ""] = KEY.exec(key) ?? [];
    const known = this.#keys.get(id);
    const { salt, hash } = known?.record ?? NOBODY;
    const isRight = timingSafeEqual(hashOf(salt, secret), Buffer.from(hash, "hex"));
    return isRight ? known?.caller : undefined;
  }

  async refresh(): Promise<void> {
    const now = this.#clock.now();
    const isDue = now >= this.#checkedAt + this.#store.checkMs || now < this.#checkedAt;
    if (this.#checking === undefined && isDue) {
      this.#checkedAt = now;
      this.#checking = this.#check().finally(() => {
        this.#checking = undefined;
      });
    }
    if (this.#checking === undefined || now - this.#checkedAt >= PATIENCE_MS) return;
    // A request waits for changed keys only for a limited time. If the store is slow, the previous keys remain valid.
    const enough = new AbortController();
    await Promise.race([this.#checking, this.#clock.sleep(PATIENCE_MS, enough.signal).catch(() => {})]);
    enough.abort();
  }

  async #check(): Promise<void> {
    try {
      if ((await this.#store.stamp()) !== this.#stamp) await this.#read();
    } catch (error) {
      this.#onFault(error);
    }
  }

  async #read(): Promise<void> {
    const stamp = await this.#store.stamp();
    const records = await this.#store.read();
    this.#keys = new Map(
      records
        .filter(({ revokedAt }) => revokedAt === undefined)
        .map((record) => [record.id, { record, caller: callerOf(record) }]),
    );
    this.#stamp = stamp;
  }
}

/** A record that is compared with a key of unknown id, so that this check takes as long as for known ids. */
const NOBODY = { salt: "00".repeat(16), hash: "00".repeat(32) };

function callerOf({ name, allow, universes, requestsPerMinute, maxSymbols, mayReplay }: KeyRecord): Caller {
  return {
    name,
    allow: allow && new Set(allow),
    universes: universes && new Set(universes),
    requestsPerMinute,
    maxSymbols,
    mayReplay,
  };
}

import { createHash, timingSafeEqual } from "node:crypto";
import type { Clock } from "../../core/time.js";
import type { EndpointGroup } from "../../wire/endpoints.js";
import { ParameterError } from "../../wire/parameters.js";
import { RequestError } from "../http/request-error.js";
import type { Members } from "../read/reference-data.js";
import { hashOf, type KeyRecord, type KeyStore } from "./key-records.js";

/** The owner of a key, and what the key may request. */
export interface Caller {
  readonly name: string;
  /** Groups of endpoints. @default all */
  readonly allow?: ReadonlySet<EndpointGroup> | undefined;
  /** Ids of universes: the key is limited to their members. @default every symbol */
  readonly universes?: ReadonlySet<string> | undefined;
  /** Most requests per minute. @default the service's limit */
  readonly requestsPerMinute?: number | undefined;
  /** Most symbols of one request. @default the service's limit */
  readonly maxSymbols?: number | undefined;
  /** Whether the key may set the time of a replay. @default false */
  readonly mayReplay?: boolean | undefined;
}

/** The keys that a service accepts. */
export interface KeyRing {
  /** The caller of a key; undefined for an unknown key. The time that the check takes reveals nothing about any key. */
  callerOf(key: string): Caller | undefined;
  /** Loads keys that were added or revoked. @default the keys do not change */
  refresh?(): Promise<void>;
}

/** A ring of the keys of several rings. */
export function ringOf(...rings: readonly KeyRing[]): KeyRing {
  return {
    // Every ring is asked, so that the time reveals nothing about any key.
    callerOf: (key) => rings.map((ring) => ring.callerOf(key)).find((caller) => caller !== undefined),
    refresh: async () => {
      for (const ring of rings) await ring.refresh?.();
    },
  };
}

const digest = (text: string): Buffer => createHash("sha256").update(text, "utf8").digest();

/** A ring of keys that may request everything. Only digests of the keys are stored; each check compares all of them. */
export function plainKeys(keys: readonly string[]): KeyRing {
  const known = keys
    .filter((key) => key !== "")
    .map((key, index) => ({
      digest: digest(key),
      caller: { name: `key ${index + 1}`, mayReplay: true },
    }));
  return {
    callerOf(key) {
      const given = digest(key);
      let found: Caller | undefined;
      for (const { digest: one, caller } of known) if (timingSafeEqual(one, given)) found ??= caller;
      return found;
    },
  };
}

/** The symbols and universes that a request may read. */
export interface Scope {
  readonly isWhole: boolean;
  hasSymbol(symbol: string): boolean;
  hasUniverse(id: string): boolean;
  /**
   * @throws {ParameterError} for more symbols than the key may put into a request.
   * @throws {RequestError} FORBIDDEN, with the first symbol that is not permitted.
   */
  checkSymbols(symbols: readonly string[]): void;
  /** @throws {RequestError} FORBIDDEN, with the first universe that is not permitted. */
  checkUniverses(ids: readonly string[]): void;
}

/** The scope of a caller: everything, or the current members of its universes. */
export function scopeOf({ name, universes, maxSymbols }: Caller, members: Members): Scope {
  const symbols =
    universes === undefined ? undefined : new Set([...universes].flatMap((id) => members.get(id) ?? []));
  const hasSymbol = (symbol: string): boolean => symbols === undefined || symbols.has(symbol);
  const hasUniverse = (id: string): boolean => universes === undefined || universes.has(id);
  const check = (kind: string, asked: readonly string[], permits: (one: string) => boolean): void => {
    const refused = asked.find((one) => !permits(one));
    if (refused === undefined) return;
    const text = JSON.stringify(refused.slice(0, 64));
    throw new RequestError("FORBIDDEN", `${name} may not ask for ${kind} ${text}`);
  };
  return {
    isWhole: universes === undefined,
    hasSymbol,
    hasUniverse,
    checkSymbols(asked) {
      if (maxSymbols !== undefined && asked.length > maxSymbols)
        throw new ParameterError("INVALID_PARAMETER", `symbols has more than ${maxSymbols} entries`);
      check("symbol", asked, hasSymbol);
    },
    checkUniverses: (asked) => check("universe", asked, hasUniverse),
  };
}

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

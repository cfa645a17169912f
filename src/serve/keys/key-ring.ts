import { createHash, timingSafeEqual } from "node:crypto";
import type { EndpointGroup } from "../../wire/endpoints.js";

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

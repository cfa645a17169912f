import { createHash, timingSafeEqual } from "node:crypto";
import type { EndpointGroup } from "../../wire/endpoints.js";

/** Whom a request comes from, and what it may ask for. */
export interface Caller {
  readonly name: string;
  /** Groups of endpoints. @default all */
  readonly allow?: ReadonlySet<EndpointGroup> | undefined;
  /** Ids of the universes to whose members it is limited. @default every symbol */
  readonly universes?: ReadonlySet<string> | undefined;
  /** @default the service's */
  readonly requestsPerMinute?: number | undefined;
}

/** The keys that a service accepts. */
export interface KeyRing {
  /** Whose key a text is; undefined where it is nobody's. How long that takes tells nothing about a key. */
  callerOf(key: string): Caller | undefined;
  /** Takes note of keys that were added or revoked. @default they do not change */
  refresh?(): Promise<void>;
}

const digest = (text: string): Buffer => createHash("sha256").update(text, "utf8").digest();

/** Keys that may ask for everything. Only their digests are kept and compared, always all of them. */
export function plainKeys(keys: readonly string[]): KeyRing {
  const known = keys
    .filter((key) => key !== "")
    .map((key, index) => ({
      digest: digest(key),
      caller: { name: `key ${index + 1}` },
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

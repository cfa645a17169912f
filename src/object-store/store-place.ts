import { parseObjectUrl } from "./object-address.js";
import { type ObjectStore, type ObjectStoreOptions, openObjectStore } from "./object-store.js";
import { probeOnce, type WriteAbility } from "./store-probe.js";

/** A place in a store: a prefix of a bucket, under which a lake, or other data that processes share, is stored. */
export interface StorePlace {
  /** `s3://bucket/prefix`. */
  readonly url: string;
  readonly store: ObjectStore;
  /** The key of an object, from its path relative to the place. For an empty path, it is the prefix of all keys. */
  keyOf(path: string): string;
  /**
   * Makes sure, once for each place and store, that the store has the guarantees that commits depend on. Every writer
   * must call it before it writes.
   *
   * @throws {ObjectStoreError} where the store lacks a guarantee; the message names it.
   */
  expectWritable(): Promise<WriteAbility>;
}

/**
 * Opens a place of an object store. No request is sent yet.
 *
 * @param url `s3://bucket/prefix`.
 * @throws {UsageError} for an invalid address, or invalid settings for the store.
 */
export async function openStorePlace(
  url: string,
  options: Omit<ObjectStoreOptions, "bucket">,
): Promise<StorePlace> {
  const { bucket, prefix } = parseObjectUrl(url);
  return storePlace(await openObjectStore({ ...options, bucket }), prefix);
}

/**
 * A place in an opened bucket.
 *
 * @param known the result of a probe of the same store. Without it, the place is probed.
 */
export function storePlace(store: ObjectStore, prefix: string, known?: Promise<WriteAbility>): StorePlace {
  const keyOf = (path: string): string => (prefix === "" ? path : `${prefix}/${path}`);
  let ability = known;
  return {
    url: prefix === "" ? `s3://${store.bucket}` : `s3://${store.bucket}/${prefix}`,
    store,
    keyOf,
    expectWritable() {
      if (ability !== undefined) return ability;
      const probing = probeOnce(store, keyOf);
      // If a probe could not be finished, the next write probes again.
      probing.catch(() => {
        ability = undefined;
      });
      ability = probing;
      return probing;
    },
  };
}

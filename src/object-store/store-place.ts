import { parseObjectUrl } from "./object-address.js";
import { type ObjectStore, type ObjectStoreOptions, openObjectStore } from "./object-store.js";
import { probeOnce, type WriteAbility } from "./store-probe.js";

/** A prefix of a bucket: where a lake, or something else that processes share, is. */
export interface StorePlace {
  /** `s3://bucket/prefix`. */
  readonly url: string;
  readonly store: ObjectStore;
  /** The key of an object, from its path relative to the place; of the empty path, the beginning of all keys. */
  keyOf(path: string): string;
  /**
   * Makes sure, once for each place and store, that the store has the guarantees that commits depend on. Every writer calls it before
   * it writes.
   *
   * @throws {ObjectStoreError} where the store lacks a guarantee; the message names it.
   */
  expectWritable(): Promise<WriteAbility>;
}

/**
 * Opens a place of an object store. No request is sent yet.
 *
 * @param url `s3://bucket/prefix`.
 * @throws {UsageError} for an address that is not valid, and where the settings for the store are not.
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
 * @param known what a probe of the same store has found; without it the place is probed.
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
      // A probe that could not be finished is made again by the next write.
      probing.catch(() => {
        ability = undefined;
      });
      ability = probing;
      return probing;
    },
  };
}

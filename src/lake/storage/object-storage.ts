import { objectLeases } from "../../lease/object-leases.js";
import type { StorePlace } from "../../object-store/store-place.js";
import { freshLists } from "./fresh-lists.js";
import type { Storage } from "./storage.js";

/**
 * A lake in the objects of a store, under one prefix of a bucket. Before its first write the store is probed: see
 * {@link StorePlace}.
 */
export function objectStorage(place: StorePlace): Storage {
  const { store } = place;
  const keyOf = (path: string): string => place.keyOf(path);
  const prefixOf = (folder: string): string => (folder === "" ? place.keyOf("") : `${keyOf(folder)}/`);
  const lists = freshLists(store);
  /** @param isNew whether this process wrote the file. */
  const written = (path: string, isNew: boolean): boolean => {
    if (isNew) lists.expect(keyOf(path));
    return isNew;
  };
  return {
    location: place.url,
    urlOf: (path) => `s3://${store.bucket}/${keyOf(path)}`,
    list: (folder) => lists.namesIn(prefixOf(folder)),
    async walk(folder) {
      const prefix = prefixOf(folder);
      const objects = await lists.objectsUnder(prefix);
      return objects
        .map(({ key, size, modifiedAt }) => ({ path: key.slice(prefix.length), size, modifiedAt }))
        .sort((a, b) => (a.path < b.path ? -1 : 1));
    },
    async factsOf(path) {
      const facts = await store.head(keyOf(path));
      if (facts === undefined) return undefined;
      const { size, modifiedAt, etag, writeId = "" } = facts;
      return { size, modifiedAt, tag: `${etag} ${size} ${modifiedAt} ${writeId}` };
    },
    readText: async (path) => (await store.get(keyOf(path)))?.toString("utf8"),
    read: (path) => store.getStream(keyOf(path)),
    readRange: (path, range) => store.getRange(keyOf(path), range),
    async putIfAbsent(path, text) {
      await place.expectWritable();
      return written(path, await store.putIfAbsent(keyOf(path), Buffer.from(text)));
    },
    async put(path, text) {
      await place.expectWritable();
      await store.put(keyOf(path), Buffer.from(text));
      written(path, true);
    },
    async putFileIfAbsent(localFile, path) {
      const { parts } = await place.expectWritable();
      return written(path, await store.putFileIfAbsent(keyOf(path), localFile, parts));
    },
    async delete(path) {
      lists.forget(keyOf(path));
      await store.delete(keyOf(path));
    },
    leases: (folder) => objectLeases(place, folder),
  };
}

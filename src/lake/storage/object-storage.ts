import type { StorePatience, StoreSecret } from "../../db/session/store-access.js";
import { objectLeases } from "../../lease/object-leases.js";
import type { Credentials } from "../../object-store/access/credential-source.js";
import { freshLists } from "../../object-store/fresh-lists.js";
import type { ObjectStore } from "../../object-store/object-store.js";
import type { StorePlace } from "../../object-store/store-place.js";
import type { Storage } from "./storage.js";

export interface ObjectStorageOptions {
  /** Folder of DuckDB's extension that reads from stores. @default the one that DuckDB installs */
  readonly extensions?: string | undefined;
  /** How long DuckDB waits for the store. */
  readonly patience?: StorePatience | undefined;
}

/**
 * A lake in the objects of a store, under one prefix of a bucket. Before its first write the store is probed: see
 * {@link StorePlace}.
 */
export function objectStorage(
  place: StorePlace,
  { extensions, patience }: ObjectStorageOptions = {},
): Storage {
  const { store } = place;
  const keyOf = (path: string): string => place.keyOf(path);
  const prefixOf = (folder: string): string => (folder === "" ? place.keyOf("") : `${keyOf(folder)}/`);
  const lists = freshLists(store);
  /** Records that a file exists, no matter which process wrote it: later lists must contain it. */
  const expected = <T>(path: string, result: T): T => {
    lists.expect(keyOf(path));
    return result;
  };
  return {
    location: place.url,
    access: { scope: `${place.url}/`, extensions, patience, secret: secretsOf(store) },
    urlOf: (path) => `s3://${store.bucket}/${keyOf(path)}`,
    list: (folder, after) => lists.namesIn(prefixOf(folder), after),
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
      return expected(path, await store.putIfAbsent(keyOf(path), Buffer.from(text)));
    },
    async put(path, text) {
      await place.expectWritable();
      expected(path, await store.put(keyOf(path), Buffer.from(text)));
    },
    async putFileIfAbsent(localFile, path, sha256) {
      const { parts } = await place.expectWritable();
      return expected(path, await store.putFileIfAbsent(keyOf(path), localFile, { ...parts, sha256 }));
    },
    async delete(path) {
      lists.forget(keyOf(path));
      await store.delete(keyOf(path));
    },
    time: () => objectLeases(place, CLOCK).now(),
    leases: (folder) => objectLeases(place, folder),
  };
}

/** The folder in which an object is written in order to read the clock of the store. */
const CLOCK = "leases";

/** Makes a function that returns the secrets for DuckDB: the same object while the credentials are the same. */
function secretsOf(store: ObjectStore): () => Promise<StoreSecret> {
  let known: { readonly credentials: Credentials; readonly secret: StoreSecret } | undefined;
  return async () => {
    const credentials = await store.credentials();
    if (known?.credentials !== credentials) known = { credentials, secret: secretOf(credentials, store) };
    return known.secret;
  };
}

function secretOf(credentials: Credentials, { endpoint }: ObjectStore): StoreSecret {
  return {
    keyId: credentials.accessKeyId,
    key: credentials.secretAccessKey,
    sessionToken: credentials.sessionToken,
    region: endpoint.region,
    endpoint: endpoint.url.replace(/^https?:\/\//, ""),
    isPathStyle: endpoint.isPathStyle,
    isTls: endpoint.url.startsWith("https:"),
  };
}

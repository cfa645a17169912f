import { systemClock } from "../../client/system-clock.js";
import { httpfsFolder, type StorePatience, type StoreSecret } from "../../db/session/store-access.js";
import type { LeaseStore } from "../../lease/lease-store.js";
import type { Environment } from "../../object-store/access/credential-source.js";
import { parseObjectUrl } from "../../object-store/object-address.js";
import type { Storage } from "./storage.js";

/**
 * The storage of a lake at `s3://bucket/prefix`. The store is opened at the first use, so that a command that does not
 * use the lake needs no credentials.
 *
 * @param env the variables of the AWS tools, `BARLAKE_DUCKDB_EXTENSIONS`, and `XDG_CACHE_HOME`.
 * @throws {UsageError} for an address that is not valid.
 */
export function openObjectStorage(url: string, env: Environment, patience: StorePatience = {}): Storage {
  const { bucket, prefix } = parseObjectUrl(url);
  const location = prefix === "" ? `s3://${bucket}` : `s3://${bucket}/${prefix}`;
  const extensions = httpfsFolder(env);
  const open = once(async () => {
    // Loaded only for a lake in a store: the HTTP client and its helpers make the start of a command slower.
    const [{ openStorePlace }, { objectStorage }] = await Promise.all([
      import("../../object-store/store-place.js"),
      import("./object-storage.js"),
    ]);
    return objectStorage(await openStorePlace(location, { env, clock: systemClock, ...patience }), {
      extensions,
      patience,
    });
  });
  return {
    location,
    access: {
      scope: `${location}/`,
      extensions,
      patience,
      secret: async () => (await open()).access?.secret() as Promise<StoreSecret>,
    },
    urlOf: (path) => `${location}/${path}`,
    list: async (folder, after) => (await open()).list(folder, after),
    walk: async (folder) => (await open()).walk(folder),
    factsOf: async (path) => (await open()).factsOf(path),
    readText: async (path) => (await open()).readText(path),
    read: async (path) => (await open()).read(path),
    readRange: async (path, range) => (await open()).readRange(path, range),
    putIfAbsent: async (path, text) => (await open()).putIfAbsent(path, text),
    put: async (path, text) => (await open()).put(path, text),
    putFileIfAbsent: async (file, path, sha256) => (await open()).putFileIfAbsent(file, path, sha256),
    delete: async (path) => (await open()).delete(path),
    time: async () => (await open()).time(),
    leases: (folder) => leasesOf(once(async () => (await open()).leases(folder))),
  };
}

/** Leases whose store is opened at the first use. */
function leasesOf(open: () => Promise<LeaseStore>): LeaseStore {
  return {
    ids: async () => (await open()).ids(),
    read: async (id) => (await open()).read(id),
    create: async (id, text, state) => (await open()).create(id, text, state),
    renew: async (id, state) => (await open()).renew(id, state),
    remove: async (id, renewedAt) => (await open()).remove(id, renewedAt),
    now: async () => (await open()).now(),
    tidy: async () => (await open()).tidy(),
  };
}

/** Calls a function once and caches its result; after a failure, the next call tries again. */
function once<T>(open: () => Promise<T>): () => Promise<T> {
  let opened: Promise<T> | undefined;
  return () => {
    opened ??= open().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
}

import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { systemClock } from "../../src/client/system-clock.js";
import { Lake, type LakeOptions } from "../../src/lake/lake.js";
import { openStorePlace } from "../../src/object-store/store-place.js";
import { type FaultyStore, type Passing, startFaultyStore } from "./faulty-store.js";
import { findHttpfs } from "./httpfs.js";
import { type StoreServer, startStore, storesHere } from "./store-server.js";

/** A request that a store received: `LIST` is a GET of a list. */
export type SeenRequest = `${string} ${string}`;

/** A store for the tests of a file, behind a proxy that notes each request. */
export interface StoreLakes {
  /** The environment of programs that use the store. */
  readonly env: Readonly<Record<string, string>>;
  readonly store: FaultyStore;
  /** A location that nothing uses yet. */
  newLocation(): string;
  /** Opens the lake of a location once more, as another process does. */
  open(location: string, options?: LakeOptions): Lake;
  /** The requests of some work, sorted: method and key. */
  requestsOf(work: () => Promise<unknown>): Promise<SeenRequest[]>;
  /** The number of connections that the requests of the last work came on. */
  connections(): number;
}

/** What a probe of the store has left in a place. */
const PROBE = /(^|\/)probes\/[0-9a-f]{16}\.json$/;

const [here] = storesHere(1);
const extensions = findHttpfs();

/** Whether this machine has what lakes on a store need: a store, and DuckDB's extension. */
export const HAS_STORE = here !== undefined && extensions !== undefined;

/**
 * The store of a test file; it is there while its tests run.
 *
 * @param isProbed whether each new place seems to have been probed. A test of what a probe finds says false.
 */
export function storeLakes(isProbed = true): StoreLakes {
  let server: StoreServer;
  let store: FaultyStore;
  let work: string;
  let seen: Passing[] = [];
  beforeAll(async () => {
    if (here === undefined || !HAS_STORE) return;
    server = await startStore(here);
    store = await startFaultyStore(server);
    const probed = isProbed ? await probeOnce() : undefined;
    store.contentOf = ({ method, key }) => (method === "GET" && PROBE.test(key) ? probed : undefined);
    store.faultOf = noted(() => undefined);
    work = mkdtempSync(join(tmpdir(), "barlake-work-"));
  });
  afterAll(async () => {
    await store?.stop();
    await server?.stop();
    if (work !== undefined) rmSync(work, { recursive: true, force: true });
  });
  const noted =
    (faultOf: FaultyStore["faultOf"]): FaultyStore["faultOf"] =>
    (passing) => {
      seen.push(passing);
      return faultOf(passing);
    };
  /** Probes the store, as a lake does before its first write. @returns what that stores, which is that of each new place */
  const probeOnce = async (): Promise<Buffer | undefined> => {
    const place = await openStorePlace(`s3://${server.bucket}/probed`, {
      env: store.env,
      clock: systemClock,
    });
    try {
      await place.expectWritable();
      for await (const { objects } of place.store.list({ prefix: place.keyOf("") }))
        for (const { key } of objects) if (PROBE.test(key)) return await place.store.get(key);
      return undefined;
    } finally {
      await place.store.close();
    }
  };
  const the = {
    get env() {
      return { ...store.env, BARLAKE_WORK: work, BARLAKE_DUCKDB_EXTENSIONS: extensions as string };
    },
    get store() {
      return store;
    },
    newLocation: () => `s3://${server.bucket}/${randomUUID()}`,
    open: (location: string, options: LakeOptions = {}) =>
      new Lake(location, { hasDatabase: false, environment: the.env, ...options }),
    connections: () => new Set(seen.map(({ connection }) => connection)).size,
    async requestsOf(ask: () => Promise<unknown>) {
      seen = [];
      await ask();
      return seen.map(({ method, key, query }): SeenRequest => {
        const isList = query.has("list-type");
        return `${isList ? "LIST" : method} ${isList ? query.get("prefix") : key}`;
      });
    },
  };
  return the;
}

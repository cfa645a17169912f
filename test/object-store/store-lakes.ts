import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { Lake, type LakeOptions } from "../../src/lake/lake.js";
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

const [here] = storesHere(1);
const extensions = findHttpfs();

/** Whether this machine has what lakes on a store need: a store, and DuckDB's extension. */
export const HAS_STORE = here !== undefined && extensions !== undefined;

/** The store of a test file; it is there while its tests run. */
export function storeLakes(): StoreLakes {
  let server: StoreServer;
  let store: FaultyStore;
  let work: string;
  let seen: Passing[] = [];
  beforeAll(async () => {
    if (here === undefined || !HAS_STORE) return;
    server = await startStore(here);
    store = await startFaultyStore(server);
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

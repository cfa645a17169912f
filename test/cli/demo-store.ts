import { findHttpfs } from "../object-store/httpfs.js";
import { findStore, STORES, type StoreName } from "../object-store/store-server.js";

/** The stores on which the demo can run here. */
export const DEMO_STORES: readonly StoreName[] =
  findHttpfs() === undefined ? [] : STORES.filter((name) => findStore(name) !== undefined);

/** The environment of a demo that finds one store, and no other. */
export function demoEnvironment(name: StoreName | undefined): Record<string, string> {
  return {
    BARLAKE_VERSITYGW: (name === "versitygw" && findStore(name)) || "",
    BARLAKE_MINIO: (name === "minio" && findStore(name)) || "",
    BARLAKE_DUCKDB_EXTENSIONS: findHttpfs() ?? "",
  };
}

/** The address that a demo says its store has. */
export function storeUrlIn(stdout: string): string | undefined {
  return /runs at (http:\/\/127\.0\.0\.1:\d+),/.exec(stdout)?.[1];
}

/** Whether anything accepts connections at an address. */
export async function isThere(url: string): Promise<boolean> {
  return fetch(url).then(
    () => true,
    () => false,
  );
}

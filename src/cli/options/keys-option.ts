import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import { Option } from "commander";
import { systemClock } from "../../client/system-clock.js";
import { UsageError } from "../../core/errors.js";
import { userFolder } from "../../core/user-folder.js";
import { placesOf } from "../../lake/places.js";
import type { Storage } from "../../lake/storage/storage.js";
import { splitList } from "../../market/symbol.js";
import { type KeyStore, keyFile, keyPlace } from "../../serve/keys/key-records.js";
import { type KeyRing, plainKeys, ringOf, StoredKeys } from "../../serve/keys/key-ring.js";

/**
 * `--keys LOCATION`: the file with the keys of a service, by default in the user's settings folder (XDG), or a place that
 * several services share.
 */
export function keysOption(): Option {
  return new Option(
    "--keys <location>",
    "keys that the service accepts: a file; or a folder, or s3://bucket/prefix, that several services share",
  )
    .env("BARLAKE_SERVE_KEYS_FILE")
    .default(
      join(userFolder("config", process.env), "serve-keys.json"),
      "barlake/serve-keys.json in $XDG_CONFIG_HOME or ~/.config",
    );
}

export interface KeysLocation {
  readonly keys: KeyStore;
  /** Where the services that share the keys count their requests; undefined for a file. */
  readonly shared: Storage | undefined;
}

/** The keys at a location: a folder that exists, or whose name ends with a slash, and a prefix of a bucket are shared. */
export function keysAt(location: string): KeysLocation {
  const isPlace =
    /^[a-z][a-z0-9+.-]*:\/\//i.test(location) ||
    /[\\/]$/.test(location) ||
    statSync(location, { throwIfNoEntry: false })?.isDirectory() === true;
  if (!isPlace) return { keys: keyFile(location), shared: undefined };
  const { storage } = placesOf(location);
  return { keys: keyPlace(storage), shared: storage };
}

/** Whether only programs of this machine can reach an address. */
export function isLoopback(host: string): boolean {
  return ["127.0.0.1", "localhost", "::1"].includes(host);
}

/**
 * The keys that a service accepts: the stored ones, and those of BARLAKE_SERVE_KEYS; `own` is a key made for this run,
 * where there are none.
 *
 * @param host the address that it listens on. @param onFault called when the keys cannot be read again later.
 * @throws {UsageError} where there are none, and other machines could reach it.
 */
export async function keysOf(
  host: string,
  { keys: store }: KeysLocation,
  onFault: (error: unknown) => void,
): Promise<{ readonly ring: KeyRing; readonly own?: string }> {
  const given = splitList(process.env.BARLAKE_SERVE_KEYS ?? "");
  const stored = await StoredKeys.open(store, systemClock, onFault);
  if (given.length + stored.size > 0) return { ring: ringOf(plainKeys(given), stored) };
  if (!isLoopback(host)) {
    throw new UsageError(`no keys: the service will not listen on ${host}`, {
      hint: "make one with barlake keys add NAME, or leave --host out",
    });
  }
  const own = randomBytes(16).toString("hex");
  return { ring: ringOf(plainKeys([own]), stored), own };
}

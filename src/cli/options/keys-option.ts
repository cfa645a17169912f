import { statSync } from "node:fs";
import { join } from "node:path";
import { Option } from "commander";
import { userFolder } from "../../core/user-folder.js";
import { placesOf } from "../../lake/places.js";
import type { Storage } from "../../lake/storage/storage.js";
import { type KeyStore, keyFile, keyPlace } from "../../serve/keys/key-records.js";

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

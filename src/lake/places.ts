import { createHash } from "node:crypto";
import { join, resolve } from "node:path";
import { systemClock } from "../client/system-clock.js";
import { UsageError } from "../core/errors.js";
import { userFolder } from "../core/user-folder.js";
import type { StorePatience } from "../db/session/store-access.js";
import type { Environment } from "../object-store/access/credential-source.js";
import { isObjectUrl } from "../object-store/object-address.js";
import type { StorePlace } from "../object-store/store-place.js";
import { type LakePlaces, workFolder } from "./local/work-folder.js";
import type { SegmentPlace } from "./segments/segment-folder.js";
import { folderStorage } from "./storage/folder-storage.js";
import { openObjectStorage } from "./storage/open-object-storage.js";

/**
 * The storage and the work folder of a lake at a location: a folder's path, or `s3://bucket/prefix`. Nothing is read
 * yet.
 *
 * @param environment the credentials and endpoints of stores, in the variables of the AWS tools; `BARLAKE_WORK` and
 *   `BARLAKE_DUCKDB_EXTENSIONS`. @default the environment of this process
 * @throws {UsageError} for another kind of URL, or one that is not valid.
 */
export function placesOf(
  location: string,
  environment: Environment = process.env,
  patience: StorePatience = {},
): LakePlaces {
  if (isObjectUrl(location)) {
    const storage = openObjectStorage(location, environment, patience);
    return { storage, work: workFolder(workFolderOf(storage.location, environment)) };
  }
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(location)?.[1];
  if (scheme !== undefined)
    throw new UsageError(`lake ${location}: ${scheme}:// is no place of a lake`, {
      hint: "name a folder, or s3://BUCKET/PREFIX",
    });
  const folder = resolve(location);
  return { storage: folderStorage(folder), work: workFolder(folder) };
}

/**
 * Opens a place in a store that is not the lake's, such as one with files to import. No request is sent yet.
 *
 * @param environment as of {@link placesOf}.
 * @throws {UsageError} for an address, or settings of the store, that are not valid.
 */
export async function storePlaceOf(url: string, environment: Environment = process.env): Promise<StorePlace> {
  // Loaded only for a store: its HTTP client makes the start of a command slower.
  const { openStorePlace } = await import("../object-store/store-place.js");
  return openStorePlace(url, { env: environment, clock: systemClock });
}

/** Variables that every program needs on a machine. */
const OF_MACHINE = /^(PATH|HOME|USERPROFILE|TMPDIR|TEMP|TMP|TZ|LANG|LC_\w+|SYSTEMROOT|WINDIR|NODE_OPTIONS)$/i;
/** Variables that name folders of this machine. */
const OF_FOLDERS = /^(XDG_CACHE_HOME|BARLAKE_WORK|BARLAKE_DUCKDB_EXTENSIONS)$/;
/** Variables by which a program finds a store, and its credentials. */
const OF_STORES =
  /^(AWS_\w+|(HTTPS?|ALL|NO)_PROXY|SSL_CERT_(FILE|DIR)|NODE_(EXTRA_CA_CERTS|TLS_REJECT_UNAUTHORIZED|USE_ENV_PROXY))$/i;

/**
 * The environment of another process that opens the lake at a location: nothing that the lake does not need, so that a
 * lake in a folder comes without any key.
 *
 * @param environment of the lake, as the parameter of {@link placesOf}. @default the environment of this process
 */
export function environmentFor(
  location: string,
  environment: Environment = process.env,
): Record<string, string> {
  const isStore = isObjectUrl(location);
  const passed = (from: Environment, name: RegExp): [string, string][] =>
    Object.entries(from).flatMap(([key, value]) =>
      value !== undefined && name.test(key) ? [[key, value]] : [],
    );
  return Object.fromEntries([
    ...passed(process.env, OF_MACHINE),
    ...passed(environment, OF_FOLDERS),
    ...(isStore ? passed(environment, OF_STORES) : []),
  ]);
}

/** The path of the folder on this machine for the unfinished work of a lake in a store. */
function workFolderOf(location: string, environment: Environment): string {
  const root = environment.BARLAKE_WORK || join(userFolder("cache", environment), "lakes");
  return resolve(root, folderNameOf(location, environment));
}

/**
 * A name for a lake's work folder. Its hash includes the store, as buckets of different stores may have the same name.
 */
function folderNameOf(location: string, environment: Environment): string {
  const store =
    environment.AWS_ENDPOINT_URL_S3 || environment.AWS_ENDPOINT_URL || environment.AWS_PROFILE || "";
  const id = createHash("sha256").update(`${store}\n${location}`).digest("hex").slice(0, 12);
  const name = location
    .replace(/^(?:s3:\/)?\/+/, "")
    .replaceAll(/[^\w.-]+/g, "-")
    .slice(0, 60);
  return `${name}-${id}`;
}

/** How this machine caches segments of a lake's bars. */
export interface SegmentOptions {
  /**
   * The folder for the segments of all lakes. @default `BARLAKE_SEGMENTS`, else `segments` in the user's cache folder
   */
  readonly folder?: string | undefined;
  /** Most bytes of all segments and copies in that folder. @default 4 GiB */
  readonly maxBytes?: number | undefined;
  /** Least number of bars for which a copy for SQL is built, of daily bars and of minutes. @default 200,000 */
  readonly copyFrom?: number | undefined;
}

/**
 * Where the segments of a lake are on this machine; undefined where `BARLAKE_SEGMENTS` is `off`.
 *
 * @param environment `BARLAKE_SEGMENTS` and `XDG_CACHE_HOME`. @default the environment of this process
 */
export function segmentPlaceOf(
  location: string,
  { folder, maxBytes, copyFrom }: SegmentOptions,
  environment: Environment = process.env,
): SegmentPlace | undefined {
  const named = folder ?? environment.BARLAKE_SEGMENTS;
  if (named === "off") return undefined;
  const root = resolve(named || join(userFolder("cache", environment), "segments"));
  return { root, folder: join(root, folderNameOf(location, environment)), maxBytes, copyFrom };
}

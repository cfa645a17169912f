import { systemClock } from "../../client/system-clock.js";
import type { Lake } from "../../lake/lake.js";
import { folderStorage } from "../../lake/storage/folder-storage.js";
import { objectStorage } from "../../lake/storage/object-storage.js";
import type { Storage } from "../../lake/storage/storage.js";
import type { Environment } from "../../object-store/access/profile-files.js";
import { openStorePlace } from "../../object-store/store-place.js";

/**
 * Where the machines that use a key divide it: the place that BARLAKE_KEYS_AT names, a folder or `s3://bucket/prefix`, or
 * the lake, where other machines use it without sharing the work folder. Undefined where this machine alone has the key.
 *
 * @param lake the lake that the key is used for, if it is for one.
 * @throws {UsageError} for an address that is not valid.
 */
export async function keysPlace(
  lake: Lake | undefined,
  environment: Environment,
): Promise<Storage | undefined> {
  const { BARLAKE_KEYS_AT: location = "" } = environment;
  if (location === "") return lake?.isShared ? lake.storage : undefined;
  return location.startsWith("s3://")
    ? objectStorage(await openStorePlace(location, { env: environment, clock: systemClock }))
    : folderStorage(location);
}

import type { Lake } from "../../lake/lake.js";
import { isObjectUrl } from "../../object-store/object-address.js";
import type { FileSource } from "./file-source.js";
import { folderSource } from "./folder-source.js";
import { storeSource } from "./store-source.js";

/**
 * Opens the place of a pipeline's files. No request is sent yet.
 *
 * @param location a folder's path, or `s3://bucket/prefix`.
 * @throws {UsageError} for an address, or settings of a store, that are not valid.
 */
export async function openFileSource(
  location: string,
  isMeant: (name: string) => boolean,
  lake: Lake,
): Promise<FileSource> {
  if (!isObjectUrl(location)) return folderSource(location, isMeant);
  return storeSource(await lake.storePlace(location), isMeant, lake.work);
}

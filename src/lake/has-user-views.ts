import { readViewFiles } from "../db/views/view-files.js";
import type { Lake } from "./lake.js";

/**
 * Whether the user has views of their own. Also true if their folder cannot be read: creating them then reports why.
 */
export function hasUserViews({ userViews }: Lake): boolean {
  try {
    return userViews !== undefined && readViewFiles(userViews.folder).length > 0;
  } catch {
    return true;
  }
}

import { readViewFiles } from "../db/views/view-files.js";
import type { Lake } from "./lake.js";

/** Whether the user has views over those of the lake; a folder that cannot be read counts, so that it is reported. */
export function hasUserViews({ userViews }: Lake): boolean {
  try {
    return userViews !== undefined && readViewFiles(userViews.folder).length > 0;
  } catch {
    return true;
  }
}

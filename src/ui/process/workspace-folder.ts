import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deleteEndedFolders, processFolderPrefix } from "../../lease/process-folder.js";

/**
 * Makes a folder for the results of a workspace, which only this user can read. It is deleted when the workspace
 * closes, or by its processes when it was killed; where all of them were killed, by the next workspace, here.
 */
export function makeWorkspaceFolder(place = tmpdir()): string {
  deleteEndedFolders(place, "ui");
  return mkdtempSync(join(place, processFolderPrefix("ui")));
}

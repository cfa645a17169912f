import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isRunning } from "../../lease/owner.js";

/** The name of the folder of a workspace, with the id of its process. */
const NAME = /^barlake-ui-(\d+)-/;

/**
 * Makes a folder for the results of a workspace, which only this user can read. It is deleted when the workspace
 * closes, or by its processes when it was killed; where all of them were killed, by the next workspace, here.
 */
export function makeWorkspaceFolder(): string {
  const place = tmpdir();
  for (const name of readdirSync(place)) {
    const owner = NAME.exec(name)?.[1];
    if (owner !== undefined && !isRunning(Number(owner))) deleteFolder(join(place, name));
  }
  return mkdtempSync(join(place, `barlake-ui-${process.pid}-`));
}

/** Deletes a folder, as far as that is possible: it may belong to another user, or be in use. */
export function deleteFolder(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    // What remains is in the folder of temporary files, or deleted by a vacuum of the lake.
  }
}

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stateOf, thisProcess } from "../../lease/owner.js";

/** The name of the folder of a workspace, with the machine and the id of its process. */
const NAME = /^barlake-ui-(.+)-(\d+)-[^-]+$/;

/**
 * Makes a folder for the results of a workspace, which only this user can read. It is deleted when the workspace
 * closes, or by its processes when it was killed; where all of them were killed, by the next workspace, here. Containers
 * may share the place: the folders of other machines are left.
 */
export function makeWorkspaceFolder(place = tmpdir()): string {
  const { host, machine, pid } = thisProcess();
  for (const name of readdirSync(place)) {
    const [, itsMachine, itsPid] = NAME.exec(name) ?? [];
    const owner = { host, machine: itsMachine, pid: Number(itsPid) };
    if (itsMachine !== undefined && stateOf(owner) === "ended") deleteFolder(join(place, name));
  }
  return mkdtempSync(join(place, `barlake-ui-${machine}-${pid}-`));
}

/** Deletes a folder, as far as that is possible: it may belong to another user, or be in use. */
export function deleteFolder(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    // What remains is in the folder of temporary files, or deleted by a vacuum of the lake.
  }
}

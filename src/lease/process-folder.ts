import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { stateOf, thisProcess } from "./owner.js";

/**
 * What the names of this process's temporary folders of a kind begin with; what follows has no hyphen. The name says the
 * machine and the process, so that the folder can be deleted after the process was killed.
 */
export function processFolderPrefix(kind: string): string {
  const { machine, pid } = thisProcess();
  return `barlake-${kind}-${machine}-${pid}-`;
}

/**
 * Deletes the temporary folders of a kind whose processes have ended. Containers may share the place: the folders of other
 * machines are left.
 */
export function deleteEndedFolders(place: string, kind: string): void {
  const { host } = thisProcess();
  for (const name of namesIn(place)) {
    if (!name.startsWith(`barlake-${kind}-`)) continue;
    const [, machine, pid] = /^barlake-[a-z]+-(.+)-(\d+)-[^-]+$/.exec(name) ?? [];
    if (machine !== undefined && stateOf({ host, machine, pid: Number(pid) }) === "ended")
      deleteFolder(join(place, name));
  }
}

/** Deletes a folder, as far as that is possible: it may belong to another user, or be in use. */
export function deleteFolder(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    // What remains is in the folder of temporary files, or deleted by a vacuum of the lake.
  }
}

function namesIn(place: string): string[] {
  try {
    return readdirSync(place);
  } catch {
    return [];
  }
}

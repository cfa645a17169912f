import { mkdirSync } from "node:fs";

/**
 * Makes a folder where it is missing, but not the folders above it: what only reads a lake must not make the folder of
 * one that was moved away.
 *
 * @returns whether the folder exists; false where one above it is missing. @throws the system's error otherwise.
 */
export function makeFolder(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return false;
    if (code === "EEXIST") return true;
    throw error;
  }
}

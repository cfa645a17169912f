import { constants, existsSync } from "node:fs";
import { access } from "node:fs/promises";
import { dirname } from "node:path";
import { writing } from "./durable-file.js";

/**
 * Makes sure that this user may create files in a folder; where it does not exist yet, that it may be created.
 *
 * @throws {LakeError} with the reason.
 */
export async function expectWritable(folder: string): Promise<void> {
  if (!existsSync(folder) && dirname(folder) !== folder) return expectWritable(dirname(folder));
  await writing(`${folder}/`, () => access(folder, constants.W_OK | constants.X_OK));
}

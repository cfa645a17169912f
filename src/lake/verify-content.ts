import { LakeError, messageOf } from "../core/errors.js";
import { contentHash, hashInName } from "./data-file.js";
import type { Lake } from "./lake.js";
import { RESTORE_HINT } from "./log-files.js";
import type { DataFile, Snapshot } from "./snapshot.js";

/**
 * Makes sure that live files are what was written, before rows are compared with theirs or copied from them: a damaged
 * key is taken for another one, and a copy of damaged rows would have a name that fits them, and look whole for ever. Parquet as DuckDB writes it has no checksums of its own.
 *
 * @throws {LakeError} for the first file that is not.
 */
export async function verifyContent(
  lake: Lake,
  snapshot: Snapshot,
  files: Iterable<DataFile>,
): Promise<void> {
  const { name } = snapshot.table;
  for (const file of files) {
    const told = hashInName(file.path);
    if (told === undefined) continue;
    let hash: string;
    try {
      hash = await contentHash(lake.urlOf(snapshot, file));
    } catch (cause) {
      const isMissing = (cause as NodeJS.ErrnoException).code === "ENOENT";
      const what = isMissing ? "is missing" : `is not readable: ${messageOf(cause)}`;
      throw new LakeError(`table ${name}: ${file.path} ${what}`, { hint: RESTORE_HINT, cause });
    }
    if (hash === told) continue;
    throw new LakeError(
      `table ${name}: ${file.path} is not what was written: its hash is ${hash}, and its name says ${told}`,
      { hint: RESTORE_HINT },
    );
  }
}

import { literal, literalList } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { NO_ROWS } from "../../db/views/parquet-relation.js";
import { isOutside, type Lake } from "../../lake/lake.js";
import { REJECTS_FOLDER } from "../../lake/land/rejects.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import { expectPermitted } from "./statement-rule.js";

/** Most that one session may spill to the disk. */
const MOST_SPILLED = "2GB";

/**
 * Locks a session whose views exist: from now on its statements read the data files of the lake's tables, and the rejects, and nothing
 * else of the machine, load no extension, and cannot change a setting back.
 */
export async function lockSession(
  session: Session,
  lake: Lake,
  snapshots: readonly Snapshot[],
): Promise<void> {
  const names = [...snapshots.map(({ table }) => table.name), REJECTS_FOLDER];
  const folders = names.map((name) => `${lake.storage.urlOf(name)}/`);
  const outside = snapshots.flatMap((snapshot) =>
    [...snapshot.files.values()]
      .filter(({ path }) => isOutside(path))
      .map((file) => lake.urlOf(snapshot, file)),
  );
  for (const setting of [
    `allowed_directories = ${literalList(folders)}`,
    `allowed_paths = ${literalList([NO_ROWS, ...outside])}`,
    `max_temp_directory_size = ${literal(MOST_SPILLED)}`,
    "enable_external_access = false",
    "lock_configuration = true",
  ])
    await session.run(`SET ${setting}`);
  session.statementCheck = expectPermitted;
}

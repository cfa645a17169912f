import { literal, literalList } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { NO_ROWS } from "../../db/views/parquet-relation.js";
import { isOutside, type Lake } from "../../lake/lake.js";
import { REJECTS_FOLDER } from "../../lake/land/rejects.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import { expectPermitted } from "./statement-rule.js";

/** Most data that one session may spill to disk. */
const MOST_SPILLED = "2GB";

/**
 * Locks a session after its views were created. From now on, its statements can read only the data files of the lake's
 * tables and the rejects. They cannot read other files of the machine, load an extension, or change a setting back.
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

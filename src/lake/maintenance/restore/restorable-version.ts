import { isOutside, type Lake } from "../../lake.js";
import { listLog } from "../../log/log-files.js";
import { commitsUpTo } from "../../log/read-log.js";
import { decodePath, type Snapshot } from "../../log/snapshot.js";

/**
 * The oldest version after another one of which every file is stored; undefined where that is only the newest one of
 * the table. Each commit between them is read once.
 */
export async function restorableVersion(
  { storage }: Lake,
  { table, version, files }: Snapshot,
): Promise<number | undefined> {
  const stored = new Set((await storage.walk(table.name)).map(({ path }) => path));
  const isGone = (path: string): boolean => !isOutside(path) && !stored.has(path);
  const gone = new Set([...files.keys()].filter(isGone));
  const { newest } = await listLog(storage, table.name);
  for await (const commit of commitsUpTo(storage, table.name, version + 1, newest - 1)) {
    for (const action of commit.actions) {
      if ("remove" in action) gone.delete(decodePath(action.remove.path));
      else if ("add" in action && isGone(decodePath(action.add.path))) gone.add(decodePath(action.add.path));
    }
    if (gone.size === 0) return commit.version;
  }
  return undefined;
}

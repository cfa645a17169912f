import { existsSync, realpathSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { BarlakeError, LakeError } from "../core/errors.js";
import type { Session } from "../db/session/session.js";
import { withSmallSession } from "../db/session/small-session.js";
import type { Lake } from "./lake.js";
import { spillOptions } from "./local/work-folder.js";
import { publishAgain } from "./publish.js";
import { locationOf } from "./published-views.js";

/** A `lake.duckdb` that was made for another location: its views read the files of that location. */
export interface ForeignDatabase {
  /** The location that it was made for. */
  readonly from: string;
  /** Why its views could not be created again; undefined where they were created. */
  readonly error?: BarlakeError;
}

/**
 * Creates the views of `lake.duckdb` again if the file was made for another location. The views contain absolute paths:
 * in a copy of a lake they would read the files of the original.
 *
 * @param session reads the file. @default a small session of this process
 * @returns undefined where nothing had to be done: the file was made for this lake (even under another name of its
 *   folder), does not name its location, or does not exist.
 */
export async function publishIfMoved(lake: Lake, session?: Session): Promise<ForeignDatabase | undefined> {
  const { hasDatabase, databaseFile } = lake;
  if (!hasDatabase || !existsSync(databaseFile)) return undefined;
  const from =
    session === undefined
      ? await withSmallSession((small) => locationOf(small, databaseFile))
      : await locationOf(session, databaseFile);
  if (from === undefined || from === lake.storage.location || isSamePlace(lake, from)) return undefined;
  if (spillOptions(lake.work).spillUnder === undefined)
    return { from, error: new LakeError("this folder is read-only") };
  try {
    await publishAgain(lake);
    return { from };
  } catch (error) {
    if (error instanceof BarlakeError) return { from, error };
    throw error;
  }
}

/** Whether a path is another name of a lake's folder: a link, or a mount of it. */
function isSamePlace({ storage, databaseFile }: Lake, from: string): boolean {
  try {
    if (realpathSync(from) === realpathSync(storage.location)) return true;
    const [one, other] = [databaseFile, join(from, basename(databaseFile))].map((path) =>
      statSync(path, { bigint: true }),
    );
    return one?.dev === other?.dev && one?.ino === other?.ino;
  } catch {
    // One of them is no folder of this machine, or no longer exists.
    return false;
  }
}

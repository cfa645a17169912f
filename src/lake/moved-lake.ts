import { existsSync } from "node:fs";
import { BarlakeError, LakeError } from "../core/errors.js";
import { Session } from "../db/session.js";
import type { Lake } from "./lake.js";
import { spillOptions } from "./local/work-folder.js";
import { publish } from "./publish.js";
import { locationOf } from "./published-views.js";

/** A `lake.duckdb` whose views read the files of another place. */
export interface ForeignDatabase {
  /** The place that it was made for. */
  readonly from: string;
  /** Why its views could not be created again. @default they were */
  readonly error?: BarlakeError;
}

/**
 * Creates the views of `lake.duckdb` again where they were made for another place: they have absolute paths, so in a
 * copy of a lake they read the original.
 *
 * @returns undefined where the file was made for this lake, and where there is none or it does not say.
 */
export async function publishIfMoved(lake: Lake): Promise<ForeignDatabase | undefined> {
  const from = await publishedFrom(lake);
  if (from === undefined || from === lake.storage.location) return undefined;
  if (spillOptions(lake.work).spillUnder === undefined)
    return { from, error: new LakeError("this folder is read-only") };
  try {
    await publish(lake);
    return { from };
  } catch (error) {
    if (error instanceof BarlakeError) return { from, error };
    throw error;
  }
}

async function publishedFrom({ databaseFile, hasDatabase }: Lake): Promise<string | undefined> {
  if (!hasDatabase || !existsSync(databaseFile)) return undefined;
  try {
    using session = await Session.open({ path: databaseFile, readOnly: true, threads: 1 });
    return await locationOf(session);
  } catch {
    // Another client has it open for writing, or it is damaged: no command of this program needs it.
    return undefined;
  }
}

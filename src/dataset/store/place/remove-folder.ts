import { lstatSync, readdirSync, rmdirSync, unlinkSync } from "node:fs";
import { rm } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";

/** Entries of a folder that are deleted before the event loop can run other work: about a millisecond. */
const TURN_ENTRIES = 256;

/**
 * Deletes a folder and all that is in it, if it exists; of a link, not what it leads to. Files are deleted some hundred at
 * a time, then other work may run: a promise for each of 40,000 files takes three times the processor time.
 *
 * @throws what the system throws for a file that cannot be deleted.
 */
export async function removeFolder(path: string): Promise<void> {
  // What cannot be deleted this way, or comes while its folder is deleted, is tried again by Node's own rules.
  await removeQuickly(path).catch(() => {});
  await rm(path, { recursive: true, force: true, maxRetries: 5 });
}

async function removeQuickly(path: string): Promise<void> {
  // A dataset's folder may be a link: the names in it would be those of another folder.
  if (!lstatSync(path).isDirectory()) return;
  for (const [at, entry] of readdirSync(path, { withFileTypes: true }).entries()) {
    if (at > 0 && at % TURN_ENTRIES === 0) await setImmediate();
    const own = `${path}/${entry.name}`;
    if (entry.isDirectory()) await removeQuickly(own);
    else unlinkSync(own);
  }
  rmdirSync(path);
  await setImmediate();
}

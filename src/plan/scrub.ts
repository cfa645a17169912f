import { DAY_MS } from "../core/time.js";

/** Number of nights in which a lake is read once. */
const NIGHTS = 21;
/** Days in which a file is not read again: with the nights above, each file is read every four weeks. */
const REST_DAYS = 7;

/** A file that can be read to check that it is unchanged. */
export interface ScrubbableFile {
  readonly bytes: number;
  /** When it was last verified, in epoch milliseconds. */
  readonly verifiedAt: number;
}

/**
 * Chooses the files to verify tonight: those that were verified longest ago, as many as needed to read the whole lake
 * in three weeks.
 *
 * @param now epoch milliseconds.
 * @param lastAt when a part was last read, in epoch milliseconds: missed nights are made up for.
 */
export function filesToScrub<File extends ScrubbableFile>(
  files: readonly File[],
  now: number,
  lastAt: number | undefined,
): File[] {
  const nights =
    lastAt === undefined ? 1 : Math.min(NIGHTS, Math.max(1, Math.round((now - lastAt) / DAY_MS)));
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  const chosen: File[] = [];
  let left = (total * nights) / NIGHTS;
  for (const file of [...files].sort((a, b) => a.verifiedAt - b.verifiedAt)) {
    if (left <= 0 || file.verifiedAt > now - REST_DAYS * DAY_MS) break;
    chosen.push(file);
    left -= file.bytes;
  }
  return chosen;
}

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

/** A night's verification: `files` are read one after the other, until `bytes` of them were found intact. */
export interface ScrubPlan<File> {
  /** All files that are due, those that were verified longest ago first. */
  readonly files: readonly File[];
  readonly bytes: number;
}

/**
 * Plans tonight's verification: as much as needed to read the whole lake in three weeks, from the files that were
 * verified longest ago. A damaged file does not count as read: it remains due, and if its bytes counted, a file behind it
 * would never be read.
 *
 * @param now epoch milliseconds.
 * @param lastAt when a part was last read, in epoch milliseconds: a plan after missed nights reads as much more.
 */
export function planScrub<File extends ScrubbableFile>(
  files: readonly File[],
  now: number,
  lastAt: number | undefined,
): ScrubPlan<File> {
  const nights =
    lastAt === undefined ? 1 : Math.min(NIGHTS, Math.max(1, Math.round((now - lastAt) / DAY_MS)));
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  const due = files.filter(({ verifiedAt }) => verifiedAt <= now - REST_DAYS * DAY_MS);
  return { files: due.sort((a, b) => a.verifiedAt - b.verifiedAt), bytes: (total * nights) / NIGHTS };
}

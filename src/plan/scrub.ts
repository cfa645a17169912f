import { DAY_MS } from "../core/time.js";

/** Number of nights in which the whole lake is read once. */
const NIGHTS = 21;
/** Days during which a file is not read again. Together with the nights above, each file is read every four weeks. */
const REST_DAYS = 7;

/** A file that can be read to verify that it is unchanged. */
export interface ScrubbableFile {
  readonly bytes: number;
  /** When it was last verified, in epoch milliseconds. */
  readonly verifiedAt: number;
}

/**
 * The verification of one night: `files` are read one after the other, until files with `bytes` bytes in total were
 * found intact.
 */
export interface ScrubPlan<File> {
  /** All files that are due, the least recently verified first. */
  readonly files: readonly File[];
  readonly bytes: number;
}

/**
 * Plans the verification of a night: as many bytes as are needed to read the whole lake in three weeks, beginning with
 * the least recently verified files. A damaged file does not count as read. It remains due; if its bytes counted, files
 * after it would never be read.
 *
 * @param now epoch milliseconds.
 * @param lastAt when a part was last read, in epoch milliseconds: a plan after missed nights reads correspondingly
 *   more.
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

import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { LakeError } from "../../core/errors.js";

/** Bytes that a folder's file system has free for this user; undefined where that cannot be known. */
export type FreeBytes = (folder: string) => Promise<number | undefined>;

/** Asks the file system that a folder is, or will be, in. */
export const freeBytesOf: FreeBytes = async (folder) => {
  if (!existsSync(folder) && dirname(folder) !== folder) return freeBytesOf(dirname(folder));
  try {
    const { bavail, blocks, bsize } = await statfs(folder);
    // Some file systems of networks and users do not count their blocks at all.
    return blocks === 0 ? undefined : bavail * bsize;
  } catch {
    return undefined;
  }
};

/** What is free beside the response: for the log, the records and the views. */
const RESERVE_BYTES = 4_000_000;
/** A bar as it is kept until it lands, and as it lands. */
const BYTES_A_BAR = 100;

/**
 * Makes sure that the disk can take a response, before it is asked and paid for.
 *
 * @param bars most bars that may come; 0 for a response that is small.
 * @throws {LakeError} where it cannot.
 */
export async function expectSpace(folder: string, bars: number, freeBytes: FreeBytes): Promise<void> {
  const free = await freeBytes(folder);
  const needed = RESERVE_BYTES + bars * BYTES_A_BAR;
  if (free === undefined || free >= needed) return;
  throw new LakeError(
    `the disk of the lake has ${inWords(free)} free, and the next response may need ${inWords(needed)}: it was not asked for`,
    { hint: "make room, or vacuum; then run the command again: what was received is not asked for again" },
  );
}

function inWords(bytes: number): string {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}

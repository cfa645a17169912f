import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { LakeError } from "../../core/errors.js";

/** Free bytes for this user on a folder's file system; undefined where unknown. */
export type FreeBytes = (folder: string) => Promise<number | undefined>;

/** Reads the free bytes of the file system on which a folder is, or will be created. */
export const freeBytesOf: FreeBytes = async (folder) => {
  if (!existsSync(folder) && dirname(folder) !== folder) return freeBytesOf(dirname(folder));
  try {
    const { bavail, blocks, bsize } = await statfs(folder);
    // Some network and user-space file systems do not count their blocks.
    return blocks === 0 ? undefined : bavail * bsize;
  } catch {
    return undefined;
  }
};

/** Bytes that must be free in addition to the response: for the log, the records and the views. */
const RESERVE_BYTES = 4_000_000;
/** Bytes that a bar takes in the spool until it lands, together with those in its data file. */
const BYTES_A_BAR = 100;

/**
 * Makes sure that the disk has space for a response, before it is requested and paid for.
 *
 * @param bars most bars that the response may have; 0 for a small response.
 * @throws {LakeError} where there is not enough space.
 */
export async function expectSpace(folder: string, bars: number, freeBytes: FreeBytes): Promise<void> {
  const free = await freeBytes(folder);
  const needed = RESERVE_BYTES + bars * BYTES_A_BAR;
  if (free === undefined || free >= needed) return;
  throw new LakeError(
    `the disk of the lake has ${inWords(free)} free, and the next response may need ${inWords(needed)}: it was not requested`,
    {
      hint: "free some space, or run barlake vacuum; then run the command again: what was received is not requested again",
    },
  );
}

function inWords(bytes: number): string {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}

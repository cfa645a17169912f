import type { Lake, PointInTime } from "../../lake/lake.js";
import { openReader, type Reader } from "../../lake/open-reader.js";
import { lockSession } from "./lock-session.js";
import type { SessionLimits } from "./session-limits.js";

/**
 * Opens a locked session over the given versions of a lake.
 *
 * @param spillUnder the folder in which it makes its folder of spilled data. @default as `openReader`
 */
export async function openLocked(
  lake: Lake,
  { memoryLimit, threads }: Required<SessionLimits>,
  pointInTime: PointInTime,
  spillUnder?: string,
): Promise<Reader> {
  const options = { memoryLimit, threads, ...(spillUnder === undefined ? {} : { spillUnder }) };
  const reader = await openReader(lake, options, pointInTime);
  try {
    await lockSession(reader.session, lake, reader.snapshots);
    return reader;
  } catch (error) {
    reader[Symbol.dispose]();
    throw error;
  }
}

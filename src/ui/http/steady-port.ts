import { createHash } from "node:crypto";

/** A range of ports that systems by default neither reserve nor use for outgoing connections. */
const FIRST = 20_000;
const NUMBER = 10_000;

/**
 * The port for a lake, which is always the same. A browser stores data by address, for example drafts of notebooks, and
 * finds it again after a restart of the workspace.
 */
export function steadyPort(location: string): number {
  return FIRST + (createHash("sha256").update(location).digest().readUInt32BE(0) % NUMBER);
}

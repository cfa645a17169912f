import { createHash } from "node:crypto";

/** Ports that systems neither reserve nor give to connections by default. */
const FIRST = 20_000;
const NUMBER = 10_000;

/**
 * A port for a lake, the same each time: what a browser stores for an address, such as drafts of notebooks, is
 * found again when the workspace is started again.
 */
export function steadyPort(location: string): number {
  return FIRST + (createHash("sha256").update(location).digest().readUInt32BE(0) % NUMBER);
}

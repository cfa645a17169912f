import { createHash } from "node:crypto";
import { createServer } from "node:net";

/** Ports that systems neither reserve nor give to connections by default. */
const FIRST = 20_000;
const NUMBER = 10_000;

/**
 * A port for a lake, the same each time: what a browser keeps for an address, such as what was typed and not saved, is
 * found again when the workspace is started again.
 */
export function steadyPort(location: string): number {
  return FIRST + (createHash("sha256").update(location).digest().readUInt32BE(0) % NUMBER);
}

/** A port, or 0, which takes any that is free, where something listens there. */
export function portIfFree(port: number, host = "127.0.0.1"): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(0));
    probe.listen(port, host, () => probe.close(() => resolve(port)));
  });
}

import { createHash } from "node:crypto";

/**
 * What identifies an API key of a service in files: the first half of a SHA-256 hash of both. It does not reveal the key.
 *
 * @param host of the service, with its port.
 */
export function keyIdOf(host: string, apiKey: string): string {
  return createHash("sha256").update(`${host}\n${apiKey}`).digest("hex").slice(0, 32);
}

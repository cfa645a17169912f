import { scrypt } from "node:crypto";
import { promisify } from "node:util";

/**
 * The name of what the users of a key share. It gives the key, even with the host known, only to a slow trial of every
 * possible key.
 *
 * @param host host of the service, with its port.
 */
export async function keyNameOf(host: string, apiKey: string): Promise<string> {
  return ((await promisify(scrypt)(apiKey, host, 8)) as Buffer).toString("hex");
}

import { scrypt } from "node:crypto";
import { promisify } from "node:util";

/**
 * The name of what the users of a key share. The key can be found from it only by a slow trial of every possible key,
 * even where the host is known.
 *
 * @param host host of the service, with its port.
 */
export async function keyNameOf(host: string, apiKey: string): Promise<string> {
  return ((await promisify(scrypt)(apiKey, host, 8)) as Buffer).toString("hex");
}

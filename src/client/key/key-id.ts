import { createHmac, randomBytes, randomUUID, scrypt } from "node:crypto";
import { link, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const SECRET_FILE = "key-id-secret";
const SECRET_BYTES = 32;

/**
 * Identifies an API key of a service in the files of a lake: an HMAC of the key and the host. Without the secret, a
 * reader of these files cannot find the key by trying keys, however short it is.
 *
 * @param secret see {@link keyIdSecret}: with another secret the same key has another id.
 * @param host host of the service, with its port.
 */
export function keyIdOf(secret: Uint8Array, host: string, apiKey: string): string {
  return createHmac("sha256", secret).update(`${host}\n${apiKey}`).digest("hex");
}

/**
 * The random secret of this user on this machine, created when it is first needed. It is stored outside of lakes, because
 * a lake may be copied and shared.
 *
 * @param folder where programs of this user store their state. Where the secret can be neither read nor written there,
 *   it is valid for this call alone: what was learned of the key is then learned again.
 */
export async function keyIdSecret(folder: string): Promise<Uint8Array> {
  const path = join(folder, SECRET_FILE);
  const stored = await readSecret(path);
  if (stored?.length === SECRET_BYTES) return stored;
  const secret = randomBytes(SECRET_BYTES);
  const draft = join(folder, `${randomUUID()}.draft`);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(draft, secret, { mode: 0o600, flag: "wx", flush: true });
    // Of processes that create it at the same time, the first one wins. A file that is no secret is replaced.
    if (stored === undefined)
      await link(draft, path).catch((error: unknown) => unlessThere(error, draft, path));
    else await rename(draft, path);
  } catch {
    const other = await readSecret(path);
    return other?.length === SECRET_BYTES ? other : secret;
  } finally {
    await rm(draft, { force: true }).catch(() => {});
  }
  return secret;
}

/** Renames the secret into place where the file system has no hard links. */
async function unlessThere(error: unknown, draft: string, path: string): Promise<void> {
  if ((error as NodeJS.ErrnoException).code === "EEXIST") throw error;
  await rename(draft, path);
}

/** @returns undefined where the file is missing or cannot be read. */
async function readSecret(path: string): Promise<Uint8Array | undefined> {
  return readFile(path).catch(() => undefined);
}

/**
 * The name of what the users of a key share. The key can be found from it only by a slow trial of every possible key,
 * even where the host is known.
 *
 * @param host host of the service, with its port.
 */
export async function keyNameOf(host: string, apiKey: string): Promise<string> {
  return ((await promisify(scrypt)(apiKey, host, 8)) as Buffer).toString("hex");
}

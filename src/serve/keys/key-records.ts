import { createHash, randomBytes } from "node:crypto";
import { z } from "zod";
import { messageOf, UsageError } from "../../core/errors.js";
import { ENDPOINT_GROUPS, type EndpointGroup } from "../../wire/endpoints.js";

const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/i;

const keyRecord = z.strictObject({
  name: z.string().regex(NAME),
  id: z.string().regex(/^[0-9a-f]{12}$/),
  salt: z.string().regex(/^[0-9a-f]{32}$/),
  /** SHA-256 of the salt and the secret. A slow hash is not needed, because the secret has 192 random bits. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  allow: z.array(z.enum(ENDPOINT_GROUPS)).min(1).optional(),
  universes: z.array(z.string()).min(1).optional(),
  requestsPerMinute: z.int().positive().optional(),
  maxSymbols: z.int().positive().optional(),
  /** Whether the key may set the time of a replay. */
  mayReplay: z.literal(true).optional(),
  createdAt: z.iso.datetime(),
  revokedAt: z.iso.datetime().optional(),
});
const keyList = z.strictObject({ version: z.literal(1), keys: z.array(keyRecord) });

/** The record of a key; the key itself is not stored. */
export type KeyRecord = z.infer<typeof keyRecord>;

/** What a new key may do. */
export interface KeyGrant {
  readonly allow?: readonly EndpointGroup[] | undefined;
  readonly universes?: readonly string[] | undefined;
  readonly requestsPerMinute?: number | undefined;
  readonly maxSymbols?: number | undefined;
  readonly mayReplay?: boolean | undefined;
}

/** Where the records of keys are: a file, or a place that several machines share. */
export interface KeyStore {
  /** Its name in messages. */
  readonly location: string;
  /** How often a service checks whether they have changed, in milliseconds. */
  readonly checkMs: number;
  /** A text that changes with every change of the keys. */
  stamp(): Promise<string>;
  /** @returns all records; empty where no list exists yet. @throws {UsageError} where the list is damaged. */
  read(): Promise<KeyRecord[]>;
  /** Replaces all records. Concurrent changes, from any process or machine, are made one after the other. */
  change(make: (keys: readonly KeyRecord[]) => KeyRecord[]): Promise<void>;
}

/** Reads a list of keys. @param what the name of the list in an error. @throws {UsageError} where it is damaged. */
export function parseKeys(text: string, what: string): KeyRecord[] {
  try {
    return keyList.parse(JSON.parse(text)).keys;
  } catch (cause) {
    const reason = cause instanceof z.ZodError ? z.prettifyError(cause) : messageOf(cause);
    throw new UsageError(`${what} is no file of keys: ${reason}`, {
      hint: "restore it, or move it away and add the keys again",
      cause,
    });
  }
}

/** The text of a list of keys. It does not contain the secrets. */
export function keysText(keys: readonly KeyRecord[]): string {
  return `${JSON.stringify({ version: 1, keys }, undefined, 2)}\n`;
}

/**
 * Creates a key and adds it to a list.
 *
 * @returns the key, which cannot be recovered later.
 * @throws {UsageError} for an invalid name, or one that another key has.
 */
export async function addKey(store: KeyStore, name: string, grant: KeyGrant, now: number): Promise<string> {
  if (!NAME.test(name)) {
    throw new UsageError(
      `name ${JSON.stringify(name)}: is not letters, digits, dots, hyphens and underscores`,
    );
  }
  const [id, secret] = [randomBytes(6).toString("hex"), randomBytes(24).toString("hex")];
  const salt = randomBytes(16).toString("hex");
  await store.change((keys) => {
    if (keys.some((key) => key.name === name && key.revokedAt === undefined)) {
      throw new UsageError(`key ${name} is there already`, { hint: "revoke it first, or take another name" });
    }
    const { allow, universes, requestsPerMinute, maxSymbols, mayReplay } = grant;
    const record: KeyRecord = {
      name,
      id,
      salt,
      hash: hashOf(salt, secret).toString("hex"),
      ...(allow && { allow: [...allow] }),
      ...(universes && { universes: [...universes] }),
      ...(requestsPerMinute !== undefined && { requestsPerMinute }),
      ...(maxSymbols !== undefined && { maxSymbols }),
      ...(mayReplay === true && { mayReplay }),
      createdAt: new Date(now).toISOString(),
    };
    return [...keys, record];
  });
  return `bl_${id}_${secret}`;
}

/** Revokes a key; it remains in the list. @throws {UsageError} where no valid key has the name. */
export async function revokeKey(store: KeyStore, name: string, now: number): Promise<void> {
  await store.change((keys) => {
    const at = keys.findIndex((key) => key.name === name && key.revokedAt === undefined);
    const found = keys[at];
    if (found === undefined) {
      throw new UsageError(`key ${name} is not known`, { hint: "barlake keys list shows the keys" });
    }
    return keys.with(at, { ...found, revokedAt: new Date(now).toISOString() });
  });
}

/** SHA-256 of a salt and a secret. */
export function hashOf(salt: string, secret: string): Buffer {
  return createHash("sha256").update(salt, "hex").update(secret, "utf8").digest();
}

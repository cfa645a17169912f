import { createHash, randomBytes, randomInt, randomUUID } from "node:crypto";
import { mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { systemClock } from "../../client/system-clock.js";
import { messageOf, UsageError } from "../../core/errors.js";
import { ticksOf } from "../../core/time.js";
import type { Storage } from "../../lake/storage/storage.js";
import { acquireLease } from "../../lease/acquire-lease.js";
import { folderLeases } from "../../lease/folder-leases.js";
import type { LeaseStore } from "../../lease/lease-store.js";
import { type LeaseKind, Leases, type OwnLease } from "../../lease/leases.js";
import { ownerShape, thisProcess } from "../../lease/owner.js";
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
function parseKeys(text: string, what: string): KeyRecord[] {
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
function keysText(keys: readonly KeyRecord[]): string {
  return `${JSON.stringify({ version: 1, keys }, undefined, 2)}\n`;
}

/**
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

/** How long a command waits for changes by other commands, in milliseconds: their disk may be slow. */
const PATIENCE_MS = 120_000;

/** A store of keys in a file that only its owner can read. */
export function keyFile(path: string): KeyStore {
  return {
    location: path,
    checkMs: 1000,
    stamp: () => stampOf(path),
    read: () => readFileOf(path),
    change: (make) => change(path, make),
  };
}

async function readFileOf(path: string): Promise<KeyRecord[]> {
  try {
    return parseKeys(await readFile(path, "utf8"), `file ${path}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

async function stampOf(path: string): Promise<string> {
  const facts = await stat(path, { bigint: true }).catch(() => undefined);
  return facts === undefined ? "none" : `${facts.ino} ${facts.mtimeNs} ${facts.size}`;
}

const changeShape = z.object({ ...ownerShape.shape, since: z.number(), id: z.string() });
type Change = z.infer<typeof changeShape>;
/** A command that was suspended during a change continues with it later, so a running process counts as alive. */
const CHANGE: LeaseKind<Change> = {
  content: changeShape,
  ownerOf: (content) => content,
  staleMs: 60_000,
  trustsProcess: true,
};

/** Replaces the whole file. Only one process does this at a time. */
async function change(path: string, make: (keys: readonly KeyRecord[]) => KeyRecord[]): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const store = folderLeases(`${path}.changes`, { isPrivate: true });
  const lease = await turnOf(path, store);
  const staged = `${path}.${lease.id}.new`;
  try {
    const keys = make(await readFileOf(path));
    const file = await open(staged, "w", 0o600);
    try {
      await file.writeFile(keysText(keys));
      await file.sync();
    } finally {
      await file.close();
    }
    if (!(await lease.renew())) throw inUse(path);
    await rename(staged, path);
  } finally {
    await rm(staged, { force: true });
    await lease.release();
    await store.tidy();
  }
}

/** Waits until no other command changes the file, and leases it. */
async function turnOf(path: string, store: LeaseStore): Promise<OwnLease> {
  const end = ticksOf(systemClock) + PATIENCE_MS;
  const content = { ...thisProcess(), since: systemClock.now(), id: randomUUID() };
  const lease = await acquireLease(
    new Leases(store, CHANGE, systemClock),
    content,
    {
      fits: (others) => others.length === 0,
      rankOf: ({ since, id }) => `${since} ${id}`,
      expectFree: () => {
        if (ticksOf(systemClock) > end) throw inUse(path);
      },
    },
    { clock: systemClock },
  );
  return lease;
}

function inUse(path: string): UsageError {
  return new UsageError(`file ${path}: another command is changing the keys`, { hint: "run it again" });
}

const FOLDER = "keys";
const VERSION_NAME = /^(\d{12})\.json$/;
/** Most attempts at one change, if other processes make changes first. */
const MAX_ATTEMPTS = 50;

/**
 * A store of keys that several machines share. Each change creates the next numbered file. Of two changes at the same
 * time one succeeds, and the other one is repeated on the new version. Earlier versions remain, and show who had a key
 * at which time.
 */
export function keyPlace(storage: Pick<Storage, "location" | "list" | "readText" | "putIfAbsent">): KeyStore {
  const newest = async (): Promise<number> => {
    const names = await storage.list(FOLDER);
    return names.reduce((last, name) => Math.max(last, Number(VERSION_NAME.exec(name)?.[1] ?? 0)), 0);
  };
  const recordsOf = async (version: number): Promise<KeyRecord[]> => {
    if (version === 0) return [];
    const path = pathOf(version);
    const text = await storage.readText(path);
    return parseKeys(text ?? "", `${storage.location}/${path}`);
  };
  return {
    location: storage.location,
    // Each check lists files, a request for which a store may charge.
    checkMs: 3000,
    stamp: async () => String(await newest()),
    read: async () => recordsOf(await newest()),
    async change(make) {
      for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
        const version = await newest();
        const keys = make(await recordsOf(version));
        if (await storage.putIfAbsent(pathOf(version + 1), keysText(keys))) return;
        await systemClock.sleep(randomInt(1, 100));
      }
      throw new UsageError(`${storage.location}: other commands are changing the keys`, {
        hint: "run it again",
      });
    },
  };
}

function pathOf(version: number): string {
  return `${FOLDER}/${String(version).padStart(12, "0")}.json`;
}

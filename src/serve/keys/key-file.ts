import { createHash, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import { mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { systemClock } from "../../client/system-clock.js";
import { messageOf, UsageError } from "../../core/errors.js";
import { type Clock, ticksOf } from "../../core/time.js";
import { acquireLease } from "../../lease/acquire-lease.js";
import { folderLeases } from "../../lease/folder-leases.js";
import type { LeaseStore } from "../../lease/lease-store.js";
import { type LeaseKind, Leases, type OwnLease } from "../../lease/leases.js";
import { ownerShape, thisProcess } from "../../lease/owner.js";
import { ENDPOINT_GROUPS, type EndpointGroup } from "../../wire/endpoints.js";
import type { Caller, KeyRing } from "./key-ring.js";

const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/i;
/**
 * The text of a key: its id, which is not secret, and its secret. A double click selects all of it. Older keys, whose
 * secrets are 32 letters of base64url, remain valid.
 */
const KEY = /^bl_([0-9a-f]{12})_([0-9a-f]{48}|[A-Za-z0-9_-]{32})$/;
/** Time between two checks of the file. */
const LOOK_EVERY_MS = 1000;
/** How long a command waits for the changes of others, which may have a slow disk. */
const PATIENCE_MS = 120_000;

const keyRecord = z.strictObject({
  name: z.string().regex(NAME),
  id: z.string().regex(/^[0-9a-f]{12}$/),
  salt: z.string().regex(/^[0-9a-f]{32}$/),
  /** SHA-256 of the salt and the secret. The secret has 192 random bits: a slow hash would add no safety. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  allow: z.array(z.enum(ENDPOINT_GROUPS)).min(1).optional(),
  universes: z.array(z.string()).min(1).optional(),
  requestsPerMinute: z.int().positive().optional(),
  maxSymbols: z.int().positive().optional(),
  /** Whether it may set the time of a replay. */
  mayReplay: z.literal(true).optional(),
  createdAt: z.iso.datetime(),
  revokedAt: z.iso.datetime().optional(),
});
const keyFile = z.strictObject({ version: z.literal(1), keys: z.array(keyRecord) });

/** The file's record of a key; the key itself is not stored. */
export type KeyRecord = z.infer<typeof keyRecord>;

/** What a new key may do. */
export interface KeyGrant {
  readonly allow?: readonly EndpointGroup[] | undefined;
  readonly universes?: readonly string[] | undefined;
  readonly requestsPerMinute?: number | undefined;
  readonly maxSymbols?: number | undefined;
  readonly mayReplay?: boolean | undefined;
}

/** Reads the keys of a file; a missing file has none. @throws {UsageError} where it is damaged. */
export async function readKeys(path: string): Promise<KeyRecord[]> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  try {
    return keyFile.parse(JSON.parse(text)).keys;
  } catch (cause) {
    const reason = cause instanceof z.ZodError ? z.prettifyError(cause) : messageOf(cause);
    throw new UsageError(`file ${path} is no file of keys: ${reason}`, {
      hint: "restore it, or move it away and add the keys again",
      cause,
    });
  }
}

/**
 * Creates a key and adds it to the file.
 *
 * @returns the key, which cannot be recovered later.
 * @throws {UsageError} for an invalid name, or the name of another key.
 */
export async function addKey(path: string, name: string, grant: KeyGrant, now: number): Promise<string> {
  if (!NAME.test(name)) {
    throw new UsageError(
      `name ${JSON.stringify(name)}: is not letters, digits, dots, hyphens and underscores`,
    );
  }
  const [id, secret] = [randomBytes(6).toString("hex"), randomBytes(24).toString("hex")];
  const salt = randomBytes(16).toString("hex");
  await change(path, (keys) => {
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

/** Revokes a key; it stays in the list. @throws {UsageError} where no valid key has the name. */
export async function revokeKey(path: string, name: string, now: number): Promise<void> {
  await change(path, (keys) => {
    const at = keys.findIndex((key) => key.name === name && key.revokedAt === undefined);
    const found = keys[at];
    if (found === undefined) {
      throw new UsageError(`key ${name} is not known`, { hint: "barlake keys list shows the keys" });
    }
    return keys.with(at, { ...found, revokedAt: new Date(now).toISOString() });
  });
}

/** The keys of a file that may change while a service runs. */
export class KeyFile implements KeyRing {
  readonly #path: string;
  readonly #clock: Pick<Clock, "now">;
  readonly #onFault: (error: unknown) => void;
  #keys: ReadonlyMap<string, { readonly record: KeyRecord; readonly caller: Caller }> = new Map();
  #stamp = "";
  #lookedAt = Number.NEGATIVE_INFINITY;

  private constructor(path: string, clock: Pick<Clock, "now">, onFault: (error: unknown) => void) {
    this.#path = path;
    this.#clock = clock;
    this.#onFault = onFault;
  }

  /**
   * Opens a file of keys.
   *
   * @param onFault called where the file cannot be read later; the previous keys stay valid then.
   * @throws {UsageError} where it is damaged.
   */
  static async open(
    path: string,
    clock: Pick<Clock, "now">,
    onFault: (error: unknown) => void,
  ): Promise<KeyFile> {
    const file = new KeyFile(path, clock, onFault);
    await file.#read();
    return file;
  }

  /** Keys that are valid. */
  get size(): number {
    return this.#keys.size;
  }

  callerOf(key: string): Caller | undefined {
    const [, id = "", secret = ""] = KEY.exec(key) ?? [];
    const known = this.#keys.get(id);
    const { salt, hash } = known?.record ?? NOBODY;
    const isRight = timingSafeEqual(hashOf(salt, secret), Buffer.from(hash, "hex"));
    return isRight ? known?.caller : undefined;
  }

  async refresh(): Promise<void> {
    const now = this.#clock.now();
    if (now < this.#lookedAt + LOOK_EVERY_MS && now >= this.#lookedAt) return;
    this.#lookedAt = now;
    try {
      if ((await stampOf(this.#path)) !== this.#stamp) await this.#read();
    } catch (error) {
      this.#onFault(error);
    }
  }

  async #read(): Promise<void> {
    const stamp = await stampOf(this.#path);
    const records = await readKeys(this.#path);
    this.#keys = new Map(
      records
        .filter(({ revokedAt }) => revokedAt === undefined)
        .map((record) => [record.id, { record, caller: callerOf(record) }]),
    );
    this.#stamp = stamp;
  }
}

/** Compared with a key whose id is unknown, so that the check takes as long as for other keys. */
const NOBODY = { salt: "00".repeat(16), hash: "00".repeat(32) };

function callerOf({ name, allow, universes, requestsPerMinute, maxSymbols, mayReplay }: KeyRecord): Caller {
  return {
    name,
    allow: allow && new Set(allow),
    universes: universes && new Set(universes),
    requestsPerMinute,
    maxSymbols,
    mayReplay,
  };
}

function hashOf(salt: string, secret: string): Buffer {
  return createHash("sha256").update(salt, "hex").update(secret, "utf8").digest();
}

async function stampOf(path: string): Promise<string> {
  const facts = await stat(path, { bigint: true }).catch(() => undefined);
  return facts === undefined ? "none" : `${facts.ino} ${facts.mtimeNs} ${facts.size}`;
}

const changeShape = z.object({ ...ownerShape.shape, since: z.number(), id: z.string() });
type Change = z.infer<typeof changeShape>;
/** A command that was stopped in the middle of a change goes on with it: a running process counts as alive. */
const CHANGE: LeaseKind<Change> = {
  content: changeShape,
  ownerOf: (content) => content,
  staleMs: 60_000,
  trustsProcess: true,
};

/** Replaces the whole file; only one process does so at a time. */
async function change(path: string, make: (keys: readonly KeyRecord[]) => KeyRecord[]): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const store = folderLeases(`${path}.changes`, { isPrivate: true });
  const lease = await turnOf(path, store);
  const staged = `${path}.${lease.id}.new`;
  try {
    const keys = make(await readKeys(path));
    const file = await open(staged, "w", 0o600);
    try {
      await file.writeFile(`${JSON.stringify({ version: 1, keys }, undefined, 2)}\n`);
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

/** Waits until no other command changes the file. */
async function turnOf(path: string, store: LeaseStore): Promise<OwnLease> {
  const end = ticksOf(systemClock) + PATIENCE_MS;
  const content = { ...thisProcess(), since: systemClock.now(), id: randomUUID() };
  const { lease } = await acquireLease(
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

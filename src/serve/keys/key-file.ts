import { randomUUID } from "node:crypto";
import { mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { systemClock } from "../../client/system-clock.js";
import { UsageError } from "../../core/errors.js";
import { ticksOf } from "../../core/time.js";
import { acquireLease } from "../../lease/acquire-lease.js";
import { folderLeases } from "../../lease/folder-leases.js";
import type { LeaseStore } from "../../lease/lease-store.js";
import { type LeaseKind, Leases, type OwnLease } from "../../lease/leases.js";
import { ownerShape, thisProcess } from "../../lease/owner.js";
import { type KeyRecord, type KeyStore, keysText, parseKeys } from "./key-records.js";

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

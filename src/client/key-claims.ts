import { randomUUID } from "node:crypto";
import { chmod, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { isRunning } from "../core/running-process.js";
import type { Clock } from "../core/time.js";

/** A claim without a heartbeat for this long is dead. */
const STALE_MS = 30_000;
/** Two heartbeats: after a suspend of the machine, or a step of its clock, a process of this machine gets this time. */
const SECOND_LOOK_MS = 10_000;
/** Sends older than this count for no quota. */
const SENT_MATTERS_MS = 120_000;

const ownerShape = z.object({
  pid: z.int().positive(),
  machine: z.string(),
  /** What the key is used for: `run daily`. */
  purpose: z.string(),
  since: z.iso.datetime(),
  share: z.number().positive().max(1),
});

/** The process that claims a part of a key's quota. */
export type Owner = Readonly<z.infer<typeof ownerShape>>;

/** A claim of a process that is alive, as far as can be seen. */
export interface Claim {
  readonly id: string;
  readonly owner: Owner;
  /** Whether its owner has acquired the key; otherwise it still waits for it, and may withdraw. */
  readonly isTaken: boolean;
}

const sentShape = z.record(z.string(), z.array(z.number()));
/** When requests were sent, as epoch milliseconds, ascending, by group of endpoints. */
export type Sent = Readonly<Partial<Record<string, readonly number[]>>>;

/** The owner assumed for a claim that cannot be read. Claiming the whole key is the safe assumption. */
const UNKNOWN: Omit<Owner, "since"> = { pid: 1, machine: "an unknown machine", purpose: "unknown", share: 1 };

const CLAIM = ".claim.json";
const SENT = ".sent.json";
/** Mode of an acquired claim's file; files of waiting claims are writable. chmod fails where the file is gone. */
const HELD_MODE = 0o400;

/**
 * The claims to one key: a folder with one file for each claim. The file's time is the claim's last heartbeat, and its
 * mode says whether the key is acquired. A file name is used only once, so deleting a dead claim never deletes a new
 * one.
 */
export interface KeyClaims {
  /** Adds a waiting claim; its complete file exists when the promise resolves. */
  add(owner: Owner, now: number): Promise<Claim>;
  /** Marks a claim as acquired. @returns whether its file still exists, as {@link KeyClaims.beat} does. */
  hold(claim: Claim): Promise<boolean>;
  /**
   * The live claims; those of processes that have ended are deleted. Where a process of this machine has no heartbeat,
   * and still runs, its next one is waited for.
   */
  living(clock: Pick<Clock, "now" | "sleep">): Promise<Claim[]>;
  /** Writes a heartbeat. @returns whether the claim still exists: a process that took it for dead has deleted it. */
  beat(claim: Claim, now: number): Promise<boolean>;
  /** Records when a claim's owner sent requests, for other processes once the claim is gone. */
  note(claim: Claim, sent: Sent): Promise<void>;
  /** The recent sends under claims that are gone. */
  sentBefore(living: readonly Claim[], now: number): Promise<Sent>;
  remove(claim: Claim): Promise<void>;
}

export async function openKeyClaims(folder: string): Promise<KeyClaims> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = (name: string): string => join(folder, name);
  const put = async (name: string, value: object, now?: number): Promise<void> => {
    const draft = file(`${randomUUID()}.draft`);
    await writeFile(draft, `${JSON.stringify(value)}\n`, { mode: 0o600 });
    if (now !== undefined) await utimes(draft, now / 1000, now / 1000);
    await rename(draft, file(name));
  };
  const remove = async ({ id }: Pick<Claim, "id">): Promise<void> => rm(file(id + CLAIM), { force: true });

  return {
    remove,
    async add(owner, now) {
      const id = randomUUID();
      await put(id + CLAIM, owner, now);
      return { id, owner, isTaken: false };
    },
    hold: ({ id }) => isThereAfter(chmod(file(id + CLAIM), HELD_MODE)),
    async living(clock) {
      const now = clock.now();
      const living: Claim[] = [];
      const silent: { readonly claim: Claim; readonly beatAt: number }[] = [];
      for (const id of await idsOf(folder, CLAIM)) {
        const path = file(id + CLAIM);
        const facts = await factsOf(path);
        if (facts === undefined) continue;
        const owner = await readJson(path, ownerShape);
        const isStale = now - facts.beatAt > STALE_MS;
        if (isStale && owner !== undefined && isRunningHere(owner))
          silent.push({ claim: { id, owner, isTaken: facts.isTaken }, beatAt: facts.beatAt });
        else if (isStale || (owner !== undefined && hasEnded(owner))) await remove({ id });
        else if (owner !== undefined) living.push({ id, owner, isTaken: facts.isTaken });
        // A claim that was withdrawn after the listing is not an unreadable claim.
        else if ((await factsOf(path)) !== undefined)
          living.push({
            id,
            owner: { ...UNKNOWN, since: new Date(facts.beatAt).toISOString() },
            isTaken: true,
          });
      }
      if (silent.length > 0) await clock.sleep(SECOND_LOOK_MS);
      for (const { claim, beatAt } of silent) {
        const facts = await factsOf(file(claim.id + CLAIM));
        if (facts?.beatAt === beatAt) await remove(claim);
        else if (facts !== undefined) living.push({ ...claim, isTaken: facts.isTaken });
      }
      return living;
    },
    beat: ({ id }, now) => isThereAfter(utimes(file(id + CLAIM), now / 1000, now / 1000)),
    async note({ id }, sent) {
      await put(id + SENT, sent);
    },
    async sentBefore(living, now) {
      const sums = new Map<string, number[]>();
      const gone = (await idsOf(folder, SENT)).filter((id) => living.every((claim) => claim.id !== id));
      for (const id of gone) {
        const sent = (await readJson(file(id + SENT), sentShape)) ?? {};
        const lately = Object.entries(sent).map(
          ([group, times]) => [group, times.filter((at) => at > now - SENT_MATTERS_MS)] as const,
        );
        for (const [group, times] of lately) sums.set(group, [...(sums.get(group) ?? []), ...times]);
        if (lately.every(([, times]) => times.length === 0)) await rm(file(id + SENT), { force: true });
      }
      return Object.fromEntries([...sums].map(([group, times]) => [group, times.sort((a, b) => a - b)]));
    },
  };
}

/** Names of a folder's files with an ending, without that ending. */
async function idsOf(folder: string, ending: string): Promise<string[]> {
  const names = await readdir(folder);
  return names.filter((name) => name.endsWith(ending)).map((name) => name.slice(0, -ending.length));
}

/** Heartbeat and mode of a claim's file; undefined where it is gone. */
async function factsOf(path: string): Promise<{ beatAt: number; isTaken: boolean } | undefined> {
  try {
    const { mtimeMs, mode } = await stat(path);
    return { beatAt: mtimeMs, isTaken: (mode & 0o777) === HELD_MODE };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Whether a file exists, after an operation on it. */
async function isThereAfter(done: Promise<void>): Promise<boolean> {
  try {
    await done;
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** @returns undefined where the file is gone or invalid. */
async function readJson<T>(path: string, shape: z.ZodType<T>): Promise<T | undefined> {
  try {
    return shape.parse(JSON.parse(await readFile(path, "utf8")));
  } catch {
    return undefined;
  }
}

function isRunningHere({ pid, machine }: Owner): boolean {
  return machine === hostname() && isRunning(pid);
}

/** Whether a process of this machine has ended. For other machines only the heartbeat shows it. */
function hasEnded({ pid, machine }: Owner): boolean {
  return machine === hostname() && !isRunning(pid);
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}

import { randomInt, scrypt } from "node:crypto";
import { hostname } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { messageOf, UsageError } from "../core/errors.js";
import type { Clock } from "../core/time.js";
import { type Claim, type KeyClaims, type Owner, openKeyClaims, type Sent } from "./key-claims.js";

export interface KeyLockOptions {
  /** Folder where the processes of this machine, or of this user, claim keys. */
  readonly folder: string;
  /** Host and port of the service. */
  readonly host: string;
  /** Never written to a file, a file name or a message. */
  readonly apiKey: string;
  /** The requested part of the key's quota, above 0, up to 1. @default 1 */
  readonly share?: number | undefined;
  /** What the key is used for, shown to other processes: `run daily`. */
  readonly purpose: string;
  readonly clock: Clock;
}

/** A part of a key's quota that no other process uses. */
export interface KeyLock {
  /** When processes that have ended recently sent requests with the key: these count for its quota. */
  readonly sentBefore: Sent;
  /** Aborts with a {@link UsageError} when another process took this one for dead and may have taken the key. */
  readonly lost: AbortSignal;
  /**
   * Sets the function that gives the recent sends. It is read at each heartbeat and at the release, for later
   * processes.
   */
  report(sentLately: () => Sent): void;
  /** Releases the key. */
  release(): Promise<void>;
}

/** Time between two heartbeats. */
const HEARTBEAT_MS = 5000;
/** A process that waits longer than this counts as having the key: it was stopped, or is of an older version. */
const ASKING_MS = 30_000;
/** Longest pause before a waiting process looks again. */
const MAX_PAUSE_MS = 100;
const ROUNDING = 1e-9;

/**
 * Claims a part of a key's quota for as long as this process lives. A process first adds its claim, then reads the
 * others, and goes on where all claims that it sees add up to at most 1. Of any two processes at least one sees the
 * other, so never do both go on. Of the waiting processes, the first one keeps its claim and looks again; the others
 * withdraw theirs until enough of the quota is free. So one of them always goes on, unless they take longer than
 * {@link ASKING_MS}.
 *
 * @throws {UsageError} where the acquired claims and this one add up to more than 1: it names their owners and since
 *   when they have the key.
 */
export async function holdKey(options: KeyLockOptions): Promise<KeyLock> {
  const { share = 1, purpose, clock } = options;
  if (!(share > 0 && share <= 1))
    throw new UsageError(`share ${share} of a key is not above 0 and at most 1`);
  const claims = await openClaims(options);
  const since = new Date(clock.now()).toISOString();
  const owner = { pid: process.pid, machine: hostname(), purpose, since, share };
  let claim: Claim | undefined;
  try {
    for (;;) {
      const living = await claims.living(clock);
      const now = clock.now();
      const others = living.filter(({ id }) => id !== claim?.id);
      if (share <= freeOf(others)) {
        if (claim === undefined) claim = await claims.add(owner, now);
        else if (await claims.hold(claim))
          return keyLock(claims, claim, await claims.sentBefore(living, now), options);
        else claim = undefined;
        continue;
      }
      claim = await madeWay(claims, claim, others, owner, options);
      await clock.sleep(randomInt(1, MAX_PAUSE_MS));
    }
  } catch (error) {
    if (claim !== undefined) await claims.remove(claim);
    throw error;
  }
}

/**
 * Withdraws a claim that other claims block, unless it is older than all other waiting claims.
 *
 * @returns the claim, if it stays.
 * @throws {UsageError} where the acquired claims leave less of the quota than requested.
 */
async function madeWay(
  claims: KeyClaims,
  claim: Claim | undefined,
  others: readonly Claim[],
  owner: Owner,
  { host, clock }: KeyLockOptions,
): Promise<Claim | undefined> {
  const isHolder = (one: Claim): boolean =>
    one.isTaken || clock.now() - Date.parse(one.owner.since) > ASKING_MS;
  const holders = others.filter(isHolder);
  if (owner.share > freeOf(holders)) throw inUse(host, holders);
  if (claim === undefined) return undefined;
  const isFirst = others.every((one) => isHolder(one) || rankOf(owner) < rankOf(one.owner));
  if (isFirst && (await claims.beat(claim, clock.now()))) return claim;
  await claims.remove(claim);
  return undefined;
}

/** Orders the waiting claims by their start, the same in every process. */
function rankOf({ since, pid, machine }: Owner): string {
  return `${since} ${machine} ${pid}`;
}

/** The free part of a key's quota. Decimal shares do not add up exactly, hence the rounding margin. */
function freeOf(claims: readonly Pick<Claim, "owner">[]): number {
  return 1 + ROUNDING - claims.reduce((sum, { owner }) => sum + owner.share, 0);
}

function keyLock(
  claims: KeyClaims,
  claim: Claim,
  sentBefore: Sent,
  { host, clock }: KeyLockOptions,
): KeyLock {
  const lost = new AbortController();
  let readSent = (): Sent => ({});
  let last: Promise<void> = Promise.resolve();
  const note = async (): Promise<void> => {
    const sent = readSent();
    if (Object.values(sent).some((times = []) => times.length > 0)) await claims.note(claim, sent);
  };
  const beat = async (): Promise<void> => {
    if (!(await claims.beat(claim, clock.now()))) lost.abort(taken(host));
    await note();
  };
  const timer = setInterval(() => {
    // A heartbeat that fails, for example on a full disk, is made up for by the next one, or the claim expires.
    last = last.then(beat).catch(() => {});
  }, HEARTBEAT_MS).unref();
  return {
    sentBefore,
    lost: lost.signal,
    report: (sentLately) => {
      readSent = sentLately;
    },
    release: async () => {
      clearInterval(timer);
      await last;
      try {
        await note();
      } finally {
        await claims.remove(claim);
      }
    },
  };
}

/**
 * Opens a key's folder. Its name gives the key, even with the host known, only to a slow trial of every possible key.
 */
async function openClaims({ folder, host, apiKey }: KeyLockOptions): Promise<KeyClaims> {
  const name = (await promisify(scrypt)(apiKey, host, 8)) as Buffer;
  const path = join(folder, name.toString("hex"));
  try {
    return await openKeyClaims(path);
  } catch (cause) {
    throw new UsageError(`folder ${path} for the claims to the key cannot be made: ${messageOf(cause)}`, {
      cause,
      hint: "set XDG_STATE_HOME to a folder that can be written",
    });
  }
}

function inUse(host: string, holders: readonly Claim[]): UsageError {
  const list = holders.map(
    ({ owner: { purpose, pid, machine, since, share } }) =>
      `"${purpose}" (process ${pid} on ${machine}, share ${share}) since ${since}`,
  );
  const rest = Math.floor(freeOf(holders) * 100) / 100;
  return new UsageError(`key for ${host} is in use by ${list.join(" and by ")}`, {
    hint:
      rest > 0
        ? `wait for it to end, or take what is left of the quota: --share ${rest}`
        : "wait for it to end, or start each with a part of the quota, such as --share 0.5",
  });
}

function taken(host: string): UsageError {
  return new UsageError(`key for ${host} was taken over: this process gave no sign of life for too long`, {
    hint: "run it again; it goes on where it stopped",
  });
}

import { randomInt } from "node:crypto";
import { join } from "node:path";
import { messageOf, UsageError } from "../../core/errors.js";
import { releaseAfter, throwAfter } from "../../core/release-after.js";
import { type Clock, ticksOf } from "../../core/time.js";
import { type AcquireRule, acquireLease } from "../../lease/acquire-lease.js";
import type { Lease } from "../../lease/leases.js";
import { thisProcess } from "../../lease/owner.js";
import { type Claim, type KeyClaims, openKeyClaims, type Sent } from "./key-claims.js";
import { keyNameOf } from "./key-id.js";

interface KeyLockOptions {
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
  /** Longest wait for others that have the key, in milliseconds. @default 0 */
  readonly maxWaitMs?: number | undefined;
  /** Called when a wait for others that have the key begins, and when it is others that have it. */
  readonly onWait?: ((inUse: KeyInUseError) => void) | undefined;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
}

/** A part of a key's quota that no other process uses. */
export interface KeyLock {
  /** When processes that have ended recently sent requests with the key: these count for its quota. */
  readonly sentBefore: Sent;
  /** Aborts with a {@link UsageError} when another process took this one for dead and may have taken the key. */
  readonly lost: AbortSignal;
  /**
   * Sets the function that gives the recent sends. It is read at each renewal of the claim and at the release, for later
   * processes.
   */
  report(sentLately: () => Sent): void;
  /** Releases the key. */
  release(): Promise<void>;
}

/** A process that waits longer than this counts as having the key: it was stopped, or is of an older version. */
const ASKING_MS = 30_000;
const ROUNDING = 1e-9;
/** Longest pause between two attempts to get a key that others have, in milliseconds. */
const PAUSE_MS = 5000;

/**
 * Claims a part of a key's quota for as long as this process lives: all claims add up to at most 1.
 *
 * @throws {UsageError} where the acquired claims and this one add up to more than 1, for as long as the call may wait: it
 *   names their owners and since when they have the key. An AbortError once the signal aborts during a wait.
 */
export async function claimKey(options: KeyLockOptions): Promise<KeyLock> {
  const { share = 1, clock, maxWaitMs = 0, onWait, signal } = options;
  if (!(share > 0 && share <= 1))
    throw new UsageError(`share ${share} of a key is not above 0 and at most 1`);
  const claims = await openClaims(options);
  const end = ticksOf(clock) + maxWaitMs;
  for (let reported = ""; ; ) {
    try {
      return await claimOnce(claims, share, options);
    } catch (error) {
      if (!(error instanceof KeyInUseError) || ticksOf(clock) >= end) throw error;
      if (error.holders !== reported) onWait?.(error);
      reported = error.holders;
    }
    // Each attempt is a new claim: a claim that waits for 30 seconds counts as acquired.
    await clock.sleep(randomInt(1, PAUSE_MS), signal);
  }
}

/** @throws {KeyInUseError} where other processes have it. */
async function claimOnce(
  claims: KeyClaims,
  share: number,
  { purpose, host, clock }: KeyLockOptions,
): Promise<KeyLock> {
  const { host: machine, pid, machine: machineId } = thisProcess();
  const claim: Claim = {
    pid,
    machine,
    machineId,
    purpose,
    since: new Date(clock.now()).toISOString(),
    share,
  };
  let readSent = (): Sent => ({});
  let noted: Promise<void> = Promise.resolve();
  // One note after the other: an earlier one must not replace a later one.
  const note = (id: string): Promise<void> => {
    const write = async (): Promise<void> => {
      const sent = readSent();
      if (Object.values(sent).some((times = []) => times.length > 0)) await claims.note(id, sent);
    };
    noted = noted.then(write, write);
    return noted;
  };
  const rule: AcquireRule<Claim> = {
    fits: (others) => share <= freeOf(others),
    rankOf: (one) => `${one.since} ${one.machine} ${one.pid}`,
    isAcquired: ({ state, content }) =>
      state === "acquired" || clock.now() - Date.parse(content.since) > ASKING_MS,
    expectFree: (acquired) => {
      if (share > freeOf(acquired)) throw new KeyInUseError(host, acquired);
    },
  };
  const { lease, others } = await acquireLease(claims.leases, claim, rule, { clock, onRenewed: note });
  const sentBefore = await claims
    .sentBefore(others, clock.now())
    .catch((error: unknown) => throwAfter(error, () => lease.release()));
  const lost = new AbortController();
  const lose = (): void => lost.abort(taken(host));
  if (lease.lost.aborted) lose();
  else lease.lost.addEventListener("abort", lose, { once: true });
  return {
    sentBefore,
    lost: lost.signal,
    report: (sentLately) => {
      readSent = sentLately;
    },
    release: () =>
      releaseAfter(
        () => note(lease.id),
        () => lease.release(),
      ),
  };
}

/** The free part of a key's quota. The margin is for rounding: decimal shares do not add up exactly. */
function freeOf(claims: readonly Lease<Claim>[]): number {
  return 1 + ROUNDING - claims.reduce((sum, { content }) => sum + content.share, 0);
}

/** Opens a key's folder. */
async function openClaims({ folder, host, apiKey, clock }: KeyLockOptions): Promise<KeyClaims> {
  const path = join(folder, await keyNameOf(host, apiKey));
  try {
    return await openKeyClaims(path, clock);
  } catch (cause) {
    throw new UsageError(`folder ${path} for the claims to the key cannot be made: ${messageOf(cause)}`, {
      cause,
      hint: "set XDG_STATE_HOME to a folder that can be written",
    });
  }
}

/** Other processes have so much of a key that a claim does not fit. */
export class KeyInUseError extends UsageError {
  /** The others in words. */
  readonly holders: string;

  constructor(host: string, acquired: readonly Lease<Claim>[]) {
    const holders = holdersText(acquired);
    const rest = Math.floor(freeOf(acquired) * 100) / 100;
    super(`key for ${host} is in use by ${holders}`, {
      hint:
        rest > 0
          ? `wait for it to end, or take what is left of the quota: --share ${rest}`
          : "wait for it to end, or start each with a part of the quota, such as --share 0.5",
    });
    this.holders = holders;
  }
}

function holdersText(holders: readonly Lease<Claim>[]): string {
  const names = holders.map(
    ({ content: { purpose, pid, machine, since, share } }) =>
      `"${purpose}" (process ${pid} on ${machine}, share ${share}) since ${since}`,
  );
  return names.join(" and by ");
}

function taken(host: string): UsageError {
  return new UsageError(`key for ${host} was taken over: this process gave no sign of life for too long`, {
    hint: "run it again; it goes on where it stopped",
  });
}

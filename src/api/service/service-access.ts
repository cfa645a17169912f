import { join } from "node:path";
import { keyIdOf, keyIdSecret, keyNameOf } from "../../client/key/key-id.js";
import { claimKey, type KeyInUseError } from "../../client/key/key-lock.js";
import { KeyShares } from "../../client/key/key-shares.js";
import type { ResponseLimits } from "../../client/response-limits.js";
import { type ByGroup, hostOf, type LearnedRate, ServiceClient } from "../../client/service-client.js";
import { systemClock } from "../../client/system-clock.js";
import { messageOf, UsageError } from "../../core/errors.js";
import { releaseAfter } from "../../core/release-after.js";
import type { Clock } from "../../core/time.js";
import { userFolder } from "../../core/user-folder.js";
import { RequestSizeLimits } from "../../jobs/run/request/request-size-limits.js";
import type { Lake } from "../../lake/lake.js";
import { type LimitsStore, openLimitsStore } from "../../lake/requests/service-limits.js";
import { folderStorage } from "../../lake/storage/folder-storage.js";
import { objectStorage } from "../../lake/storage/object-storage.js";
import type { Storage } from "../../lake/storage/storage.js";
import type { Period } from "../../market/period.js";
import type { Environment } from "../../object-store/access/credential-source.js";
import { openStorePlace } from "../../object-store/store-place.js";
import { RowCap } from "../../plan/absence/row-cap.js";

/**
 * Where the machines that use a key divide it: the place that BARLAKE_KEYS_AT names, a folder or `s3://bucket/prefix`, or
 * the lake, where other machines use it without sharing the work folder. Undefined where this machine alone has the key.
 *
 * @param lake the lake that the key is used for, if it is for one.
 * @throws {UsageError} for an address that is not valid.
 */
async function keysPlace(lake: Lake | undefined, environment: Environment): Promise<Storage | undefined> {
  const { BARLAKE_KEYS_AT: location = "" } = environment;
  if (location === "") return lake?.isShared ? lake.storage : undefined;
  return location.startsWith("s3://")
    ? objectStorage(await openStorePlace(location, { env: environment, clock: systemClock }))
    : folderStorage(location);
}

/** A service, the key for it, and how much of the key's quota is used. */
export interface KeyUse {
  readonly url: string;
  readonly apiKey: string;
  /** Requests a minute that the key permits. @default learned from refusals */
  readonly requestsPerMinute?: number | ByGroup<number> | undefined;
  /** The part of the key's quota, above 0, up to 1, where another process has the rest. @default 1 */
  readonly share?: number | undefined;
  /** How long a response may take, and how large it may be. */
  readonly responseLimits?: Partial<ResponseLimits> | undefined;
  /** What the key is used for; other processes that request the key see this text. */
  readonly purpose: string;
  readonly environment: Environment;
  readonly clock: Clock;
  /** Receives what the user should know: damaged limits, a wait for other machines. */
  readonly onNote: (text: string) => void;
}

/** A key of which other processes of this machine, and other machines, use only their shares. */
interface OpenKey {
  readonly client: ServiceClient;
  /** Aborts, with the reason, when the key was given to another process. */
  readonly lost: AbortSignal;
  close(): Promise<void>;
}

/**
 * Claims a key, or its share, and makes the client that uses it.
 *
 * @param lake the lake that the key is used for: machines that share it divide the key there.
 * @param learned requests a minute that earlier runs have learned.
 * @param onLearned called with what refusals teach.
 * @param signal ends the wait for a part of a key that other machines use.
 * @param maxWaitMs longest wait for other processes of this machine that use the key, in milliseconds; 0: none.
 * @param onInUse called when that wait begins, with the error of a call without a wait, and when it ends.
 * @throws {UsageError} where another process uses the key for longer than this one waits.
 */
export async function openKey(
  use: KeyUse,
  lake: Lake | undefined,
  {
    learned,
    onLearned,
    signal,
    maxWaitMs = 0,
    onInUse,
  }: {
    readonly learned?: ByGroup<number> | undefined;
    readonly onLearned: (learned: LearnedRate) => void;
    readonly signal?: AbortSignal | undefined;
    readonly maxWaitMs?: number | undefined;
    readonly onInUse?: ((inUse: KeyInUseError | undefined) => void) | undefined;
  },
): Promise<OpenKey> {
  const { url, apiKey, share, purpose, environment, clock, onNote } = use;
  const host = hostOf(url);
  const place = await keysPlace(lake, environment);
  const folder = join(userFolder("state", environment), "keys");
  const onWait = (inUse: KeyInUseError): void => {
    onInUse?.(inUse);
    onNote(`the key for ${host} is in use by ${inUse.holders}: waiting for it`);
  };
  const lock = await claimKey({
    folder,
    host,
    apiKey,
    share,
    purpose,
    clock,
    signal,
    maxWaitMs,
    onWait,
  });
  onInUse?.(undefined);
  const joinOthers = async (): Promise<KeyShares | undefined> =>
    place &&
    KeyShares.join({
      store: place.leases(`keys/${await keyNameOf(host, apiKey)}`),
      host,
      ask: share,
      purpose,
      clock,
      signal,
      onWait: (holders) => onNote(`the key for ${host} is used by ${holders}: waiting for a part of it`),
    });
  const shares = await joinOthers().catch(async (error: unknown) => {
    await lock.release();
    throw error;
  });
  const client = new ServiceClient({
    baseUrl: url,
    apiKey,
    clock,
    share: shares?.share ?? share,
    right: shares,
    requestsPerMinute: use.requestsPerMinute,
    learned,
    // A part of a shared key comes with the requests that were sent with it.
    sentBefore: shares === undefined ? lock.sentBefore : undefined,
    limits: use.responseLimits,
    onLearned,
  });
  lock.report(() => client.quota.sentLately);
  shares?.watch(client.quota);
  return {
    client,
    lost: shares === undefined ? lock.lost : AbortSignal.any([lock.lost, shares.lost]),
    async close() {
      await client.close();
      await shares?.release().catch((error: unknown) => onNote(`key for ${host}: ${messageOf(error)}`));
      await lock.release();
    },
  };
}

/** What a lake knows of a service; the caps are those of the key. */
export async function limitsOf(
  lake: Lake,
  { url, apiKey, environment, clock }: Pick<KeyUse, "url" | "apiKey" | "environment" | "clock">,
): Promise<LimitsStore> {
  const host = hostOf(url);
  const keyId = keyIdOf(await keyIdSecret(userFolder("state", environment)), host, apiKey);
  return openLimitsStore(lake.storage, { host, keyId }, clock);
}

/** What a run on a lake needs of a service. */
export interface RunAccess {
  readonly client: ServiceClient;
  readonly limits: LimitsStore;
  /** Aborts, with the reason, when the key was given to another process. */
  readonly lost: AbortSignal;
}

/** How a key is claimed. */
interface ClaimParts {
  readonly use?: KeyUse;
  readonly limits?: LimitsStore;
  /** Ends the wait for the key. */
  readonly signal?: AbortSignal | undefined;
  /** Whether to wait, without a limit, while another process of this machine uses the key. @default false */
  readonly waits?: boolean | undefined;
}

/** A key that is claimed, or was. */
interface ClaimedKey {
  readonly key: Promise<OpenKey>;
  /** Resolves when the key was claimed, cannot be claimed, or is waited for. */
  readonly isTried: Promise<void>;
  /** While the claim waits: the error of a call that does not wait. */
  inUse: UsageError | undefined;
  /** Ends the claim while it waits. */
  readonly signal: AbortSignal | undefined;
}

/**
 * The access to a service with one key. The key is claimed when it is first used, and released when this is closed. It
 * is a class because it owns the key and its connections, and remembers the limits that responses show.
 */
export class ServiceAccess implements AsyncDisposable {
  readonly use: KeyUse;
  /** Limits that responses have shown, of lists and of landed periods. */
  readonly limits = new RequestSizeLimits();
  readonly #caps = new Map<Period, RowCap>();
  readonly #limitsStores = new Map<string, LimitsStore>();
  #claimed: ClaimedKey | undefined;
  /** Aborts when this is closed. */
  readonly #closing = new AbortController();

  constructor(use: KeyUse) {
    this.use = use;
  }

  /** The client of the key. @throws {UsageError} where another process uses the key. */
  async client(): Promise<ServiceClient> {
    return (await this.#open(undefined, {})).client;
  }

  /** Aborts when the key was given to another process. */
  async lost(): Promise<AbortSignal> {
    return (await this.#open(undefined, {})).lost;
  }

  /** What a run on a lake needs. The limits that the run learns are stored in the lake. @param quota of the pipeline. */
  async forRun(
    lake: Lake,
    quota: { readonly requestsPerMinute?: number | undefined; readonly share?: number | undefined } = {},
    how: Pick<ClaimParts, "signal" | "waits"> = {},
  ): Promise<RunAccess> {
    const { location } = lake;
    const limits = this.#limitsStores.get(location) ?? (await limitsOf(lake, this.use));
    this.#limitsStores.set(location, limits);
    if (limits.note !== undefined) this.use.onNote(limits.note);
    const use = { ...quota, ...defined(this.use) } as KeyUse;
    const { client, lost } = await this.#open(lake, { use, limits, ...how });
    return { client, limits, lost };
  }

  /** The cap of the bars of one symbol in a response. */
  capOf(period: Period): RowCap {
    if (period === "1d" || period === "1m") return this.limits.rowCap(period);
    const cap = this.#caps.get(period) ?? new RowCap();
    this.#caps.set(period, cap);
    return cap;
  }

  /** Closes the connections, and releases the key. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(this.#closed());
    const key = await this.#claimed?.key.catch(() => undefined);
    this.#claimed = undefined;
    await releaseAfter(
      async () => key?.close(),
      ...[...this.#limitsStores].map(
        ([location, limits]) =>
          () =>
            limits
              .saved()
              .catch((error: unknown) => this.use.onNote(`limits in ${location}: ${messageOf(error)}`)),
      ),
    );
  }

  /**
   * The key, by the claim of another call where there is one. After a claim that was given up, or failed without waiting,
   * a call that waits claims the key itself.
   */
  async #open(lake: Lake | undefined, parts: ClaimParts): Promise<OpenKey> {
    for (;;) {
      this.#closing.signal.throwIfAborted();
      const others = this.#claimed;
      const claimed = (this.#claimed ??= this.#claim(lake, parts));
      if (parts.waits !== true) {
        await claimed.isTried;
        if (claimed.inUse !== undefined) throw claimed.inUse;
      }
      if (others === undefined) return claimed.key;
      const key = await settledBefore(claimed.key, parts.signal);
      if (key !== undefined) return key;
      const isOver = claimed.signal?.aborted === true || parts.waits === true;
      if (!isOver) return claimed.key;
    }
  }

  #closed(): UsageError {
    return new UsageError(`service ${this.use.url}: it was closed`, { hint: "connect again" });
  }

  #claim(lake: Lake | undefined, { use = this.use, limits, signal, waits = false }: ClaimParts): ClaimedKey {
    const closing = this.#closing.signal;
    let tried = (): void => {};
    const isTried = new Promise<void>((resolve) => {
      tried = resolve;
    });
    const key = openKey(use, lake, {
      learned: limits?.limits.requestsPerMinute,
      onLearned: ({ group, requestsPerMinute }) => {
        for (const store of this.#limitsStores.values())
          store.learn({ requestsPerMinute: { [group]: requestsPerMinute } });
      },
      signal: signal === undefined ? closing : AbortSignal.any([closing, signal]),
      maxWaitMs: waits ? Number.POSITIVE_INFINITY : 0,
      onInUse: (error) => {
        claimed.inUse = error;
        tried();
      },
    });
    const claimed: ClaimedKey = { key, isTried, inUse: undefined, signal };
    const end = (): void => {
      claimed.inUse = undefined;
      tried();
    };
    key.then(end, () => {
      // Another process may have the key now, and release it: the next call tries again.
      if (this.#claimed === claimed) this.#claimed = undefined;
      end();
    });
    return claimed;
  }
}

/** The value of a promise; undefined where it fails. @throws the signal's reason if that aborts first. */
async function settledBefore<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T | undefined> {
  signal?.throwIfAborted();
  const over = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason as Error), {
      once: true,
      signal: over.signal,
    });
  });
  try {
    return await Promise.race([promise.catch(() => undefined), aborted]);
  } finally {
    over.abort();
  }
}

/** The members that are not undefined. */
function defined<T extends object>(some: T): Partial<T> {
  return Object.fromEntries(Object.entries(some).filter(([, value]) => value !== undefined)) as Partial<T>;
}

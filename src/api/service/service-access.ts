import { join } from "node:path";
import { keyIdOf, keyIdSecret, keyNameOf } from "../../client/key/key-id.js";
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
import { folderLeases } from "../../lease/folder-leases.js";
import type { LeaseStore } from "../../lease/lease-store.js";
import type { Period } from "../../market/period.js";
import type { Environment } from "../../object-store/access/credential-source.js";
import { openStorePlace } from "../../object-store/store-place.js";
import { RowCap } from "../../plan/absence/older-bars.js";

/**
 * Where the users of a key divide it: at the place that BARLAKE_KEYS_AT names, a folder or `s3://bucket/prefix`; else in
 * the lake, where other machines use it without sharing the work folder; else in a folder of this user on this machine.
 *
 * @param lake the lake that the key is used for, if it is for one.
 * @throws {UsageError} for an address that is not valid.
 */
async function keyRecords(
  { url, apiKey, environment }: Pick<KeyUse, "url" | "apiKey" | "environment">,
  lake: Lake | undefined,
): Promise<LeaseStore> {
  const name = await keyNameOf(hostOf(url), apiKey);
  const { BARLAKE_KEYS_AT: location = "" } = environment;
  if (location.startsWith("s3://")) {
    const place = await openStorePlace(location, { env: environment, clock: systemClock });
    return objectStorage(place).leases(`keys/${name}`);
  }
  if (location !== "") return folderStorage(location).leases(`keys/${name}`);
  if (lake?.isShared === true) return lake.storage.leases(`keys/${name}`);
  const folder = join(userFolder("state", environment), "keys", name);
  const records = folderLeases(folder, { ending: ".share.json", isPrivate: true });
  return {
    ...records,
    create: (...record) =>
      records.create(...record).catch((cause: unknown): never => {
        throw new UsageError(`the use of the key cannot be recorded in ${folder}: ${messageOf(cause)}`, {
          cause,
          hint: "set XDG_STATE_HOME to a folder that can be written",
        });
      }),
  };
}

/** A service, the key for it, and how much of the key's quota is used. */
export interface KeyUse {
  readonly url: string;
  readonly apiKey: string;
  /** Requests a minute that the key permits. @default learned from refusals */
  readonly requestsPerMinute?: number | ByGroup<number> | undefined;
  /** The largest part of the key's quota, above 0, up to 1; other processes that use the key have the rest. @default 1 */
  readonly share?: number | undefined;
  /** How long a response may take, and how large it may be. */
  readonly responseLimits?: Partial<ResponseLimits> | undefined;
  readonly purpose: string;
  readonly environment: Environment;
  readonly clock: Clock;
  /** Receives what the user should know: damaged limits, a wait for others that use the key. */
  readonly onNote: (text: string) => void;
}

interface OpenKey {
  readonly client: ServiceClient;
  /** Aborts, with the reason, when others took this process for dead, and may have its part of the key. */
  readonly lost: AbortSignal;
  close(): Promise<void>;
}

/**
 * Makes the client that uses a key. It asks for its part of the key before its first request, and waits for it.
 *
 * @param lake the lake that the key is used for: machines that share it divide the key there.
 * @param learned requests a minute that earlier runs have learned.
 * @param onLearned called with what refusals teach.
 */
export async function openKey(
  use: KeyUse,
  lake: Lake | undefined,
  {
    learned,
    onLearned,
  }: {
    readonly learned?: ByGroup<number> | undefined;
    readonly onLearned: (learned: LearnedRate) => void;
  },
): Promise<OpenKey> {
  const { url, apiKey, share, purpose, clock, onNote } = use;
  const host = hostOf(url);
  const store = await keyRecords(use, lake);
  const quota = (): ServiceClient["quota"] => client.quota;
  const shares = new KeyShares({ store, host, ask: share, purpose, clock, quota, onNote });
  const client = new ServiceClient({
    baseUrl: url,
    apiKey,
    clock,
    right: shares,
    requestsPerMinute: use.requestsPerMinute,
    learned,
    limits: use.responseLimits,
    onLearned,
  });
  return {
    client,
    lost: shares.lost,
    async close() {
      await client.close();
      await shares.release().catch((error: unknown) => onNote(`key for ${host}: ${messageOf(error)}`));
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

/** The access to a service with one key. The key is released when this is closed. */
export class ServiceAccess implements AsyncDisposable {
  readonly use: KeyUse;
  /** Limits that responses have shown, of lists and of landed periods. */
  readonly limits = new RequestSizeLimits();
  readonly #caps = new Map<Period, RowCap>();
  readonly #limitsStores = new Map<string, LimitsStore>();
  #key: Promise<OpenKey> | undefined;
  #isClosed = false;

  constructor(use: KeyUse) {
    this.use = use;
  }

  async client(): Promise<ServiceClient> {
    return (await this.#open(undefined)).client;
  }

  /** Aborts when the key was given to another process. */
  async lost(): Promise<AbortSignal> {
    return (await this.#open(undefined)).lost;
  }

  /** What a run on a lake needs. The limits that the run learns are stored in the lake. @param quota of the pipeline. */
  async forRun(
    lake: Lake,
    quota: { readonly requestsPerMinute?: number | undefined; readonly share?: number | undefined } = {},
  ): Promise<RunAccess> {
    const { location } = lake;
    const limits = this.#limitsStores.get(location) ?? (await limitsOf(lake, this.use));
    this.#limitsStores.set(location, limits);
    if (limits.note !== undefined) this.use.onNote(limits.note);
    const use = { ...quota, ...defined(this.use) } as KeyUse;
    const { client, lost } = await this.#open(lake, use, limits);
    return { client, limits, lost };
  }

  capOf(period: Period): RowCap {
    if (period === "1d" || period === "1m") return this.limits.rowCap(period);
    const cap = this.#caps.get(period) ?? new RowCap();
    this.#caps.set(period, cap);
    return cap;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const key = await this.#key?.catch(() => undefined);
    this.#key = undefined;
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

  #open(lake: Lake | undefined, use = this.use, limits?: LimitsStore): Promise<OpenKey> {
    if (this.#isClosed)
      throw new UsageError(`service ${this.use.url}: it was closed`, { hint: "connect again" });
    return (this.#key ??= openKey(use, lake, {
      learned: limits?.limits.requestsPerMinute,
      onLearned: ({ group, requestsPerMinute }) => {
        for (const store of this.#limitsStores.values())
          store.learn({ requestsPerMinute: { [group]: requestsPerMinute } });
      },
    }));
  }
}

function defined<T extends object>(some: T): Partial<T> {
  return Object.fromEntries(Object.entries(some).filter(([, value]) => value !== undefined)) as Partial<T>;
}

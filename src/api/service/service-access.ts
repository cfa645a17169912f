import type { ServiceClient } from "../../client/service-client.js";
import { messageOf, UsageError } from "../../core/errors.js";
import { releaseAfter } from "../../core/release-after.js";
import { RequestSizeLimits } from "../../jobs/run/request/request-size-limits.js";
import type { Lake } from "../../lake/lake.js";
import type { LimitsStore } from "../../lake/requests/service-limits.js";
import type { Period } from "../../market/period.js";
import { RowCap } from "../../plan/absence/row-cap.js";
import { type KeyUse, limitsOf, type OpenKey, openKey } from "./open-key.js";

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

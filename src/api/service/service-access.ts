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
  #key: Promise<OpenKey> | undefined;
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

  async #open(lake: Lake | undefined, parts: ClaimParts): Promise<OpenKey> {
    // A call that does not wait may be claiming the key, and fail.
    if (parts.waits === true) await this.#key?.catch(() => undefined);
    this.#closing.signal.throwIfAborted();
    this.#key ??= this.#claim(lake, parts);
    return this.#key;
  }

  #closed(): UsageError {
    return new UsageError(`service ${this.use.url}: it was closed`, { hint: "connect again" });
  }

  async #claim(
    lake: Lake | undefined,
    { use = this.use, limits, signal, waits = false }: ClaimParts,
  ): Promise<OpenKey> {
    const closing = this.#closing.signal;
    try {
      return await openKey(use, lake, {
        learned: limits?.limits.requestsPerMinute,
        onLearned: ({ group, requestsPerMinute }) => {
          for (const store of this.#limitsStores.values())
            store.learn({ requestsPerMinute: { [group]: requestsPerMinute } });
        },
        signal: signal === undefined ? closing : AbortSignal.any([closing, signal]),
        maxWaitMs: waits ? Number.POSITIVE_INFINITY : 0,
      });
    } catch (error) {
      // Another process may have the key now, and release it: the next call tries again.
      this.#key = undefined;
      throw error;
    }
  }
}

/** The members that are not undefined. */
function defined<T extends object>(some: T): Partial<T> {
  return Object.fromEntries(Object.entries(some).filter(([, value]) => value !== undefined)) as Partial<T>;
}

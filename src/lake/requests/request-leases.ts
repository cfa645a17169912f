import { z } from "zod";
import { systemClock } from "../../client/system-clock.js";
import type { Clock, TimeRange } from "../../core/time.js";
import type { LeaseStore } from "../../lease/lease-store.js";
import { Leases } from "../../lease/leases.js";
import { livingLeases } from "../../lease/living-leases.js";
import { type Owner, ownerShape, thisProcess } from "../../lease/owner.js";
import type { Storage } from "../storage/storage.js";

/** Folder of the lake for the leases of its runs, one file for each lease. */
const FOLDER = "leases";
/** A run that has not renewed its leases for this time, in milliseconds, counts as ended. */
export const STALE_RUN_MS = 60_000;

/** The data that a request is for. */
export interface Subject {
  readonly dataset: string;
  /** Symbols, universes or exchanges; empty for the dataset as a whole. */
  readonly symbols: readonly string[];
  /** Undefined for a snapshot. */
  readonly window?: TimeRange | undefined;
}

const contentShape = z.object({
  runId: z.string(),
  ...ownerShape.shape,
  dataset: z.string(),
  symbols: z.array(z.string()),
  window: z.object({ start: z.number(), end: z.number() }).optional(),
});
type Content = z.infer<typeof contentShape>;

/** The exclusive right to request something, until the response has landed. */
export interface Lease {
  /** Adds a user of the lease, who must also release it. */
  retain(): Lease;
  /** Ends one use. After the last use other runs may make the request. */
  release(): Promise<void>;
}

/** A lease without effect, for requests that no other run can make. */
const UNLEASED: Lease = { retain: () => UNLEASED, release: async () => {} };

/** The parts of a lake that leases need. */
interface LeasedLake {
  readonly storage: Storage;
  /** Whether `takeRun` has leased all that the run requests: its requests then need no lease. @default false */
  readonly isShared?: boolean;
}

/**
 * Prevents several runs on one lake from requesting the same data at the same time, because each request costs money.
 */
export class RequestLeases {
  readonly #runId: string;
  readonly #isNeeded: boolean;
  readonly #store: LeaseStore;
  readonly #leases: Leases<Content>;

  constructor({ storage, isShared = false }: LeasedLake, runId: string, clock: Clock = systemClock) {
    this.#runId = runId;
    this.#isNeeded = !isShared;
    this.#store = storage.leases(FOLDER);
    const ownerOf = (content: Content): Content => content;
    this.#leases = new Leases(this.#store, { content: contentShape, ownerOf, staleMs: STALE_RUN_MS }, clock);
  }

  /**
   * Leases a subject.
   *
   * @returns undefined where another live run has leased a part of it.
   * @throws {LakeError} where the lease cannot be written.
   */
  async take({ dataset, symbols, window }: Subject): Promise<Lease | undefined> {
    if (!this.#isNeeded) return UNLEASED;
    const content: Content = {
      runId: this.#runId,
      ...thisProcess(),
      dataset,
      symbols: [...symbols],
      ...(window && { window: { start: window.start, end: window.end } }),
    };
    const conflicts = (other: Content): boolean => other.runId !== this.#runId && overlap(content, other);
    // If another run considered this one ended while the request was in flight, the lease is created again.
    const own = await this.#leases.tryTake(content, conflicts, { isRestored: true });
    if (own === undefined) return undefined;
    let uses = 1;
    const lease: Lease = {
      retain: () => {
        uses++;
        return lease;
      },
      release: async () => {
        if (--uses === 0) await own.release();
      },
    };
    return lease;
  }

  /** Releases every lease. */
  async close(): Promise<void> {
    if (!this.#isNeeded) return;
    await this.#leases.close();
    // The folder remains where it contains leases of another run.
    await this.#store.tidy();
  }
}

/** Requests of a run that are in flight, or whose response has not landed yet. */
export interface RequestsInFlight extends Owner {
  readonly runId: string;
  readonly datasets: readonly string[];
  readonly requests: number;
}

/** The runs on a lake that have requests in flight, on any machine. It changes nothing. */
export async function requestsInFlight({
  storage,
}: {
  readonly storage: Storage;
}): Promise<RequestsInFlight[]> {
  const runs = new Map<string, Content[]>();
  for (const content of await livingLeases(storage.leases(FOLDER), contentShape, STALE_RUN_MS))
    runs.set(content.runId, [...(runs.get(content.runId) ?? []), content]);
  return [...runs].map(([runId, own]) => {
    const { host, pid } = own[0] as Content;
    return {
      runId,
      host,
      pid,
      datasets: [...new Set(own.map(({ dataset }) => dataset))],
      requests: own.length,
    };
  });
}

/** Whether two subjects overlap. */
function overlap(a: Subject, b: Subject): boolean {
  if (a.dataset !== b.dataset) return false;
  if (a.window && b.window && (a.window.start >= b.window.end || b.window.start >= a.window.end))
    return false;
  if (a.symbols.length === 0 || b.symbols.length === 0) return true;
  const symbols = new Set(b.symbols);
  return a.symbols.some((symbol) => symbols.has(symbol));
}

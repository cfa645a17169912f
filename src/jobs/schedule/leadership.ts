import { randomInt } from "node:crypto";
import { z } from "zod";
import { firstOf } from "../../core/release-after.js";
import type { Clock } from "../../core/time.js";
import type { Lake } from "../../lake/lake.js";
import { acquireLease } from "../../lease/acquire-lease.js";
import { type Lease, type LeaseKind, Leases, type OwnLease } from "../../lease/leases.js";
import { livingLeases } from "../../lease/living-leases.js";
import { nameOfOwner, ownerShape, thisProcess } from "../../lease/owner.js";

/** The pipelines that a schedule leads: no other schedule runs them. */
export interface Leading {
  leads(pipeline: string): boolean;
  /** The name of the schedule that leads a pipeline; undefined where this one leads it, or none is known. */
  leaderOf(pipeline: string): string | undefined;
  /**
   * Whether this schedule still leads a pipeline, according to the leases; false also where they cannot be read now.
   */
  confirm(pipeline: string): Promise<boolean>;
  /** Aborts at the next change of the led pipelines. After that, this member is a new signal. */
  readonly changed: AbortSignal;
}

/** For a schedule that is the only one of its lake: it leads all pipelines. */
export const LEADS_ALL: Leading = {
  leads: () => true,
  leaderOf: () => undefined,
  confirm: async () => true,
  changed: new AbortController().signal,
};

/** Folder of the leases, in the lake's storage: all machines see them. */
const FOLDER = "leases/schedule";
/** A schedule that has not renewed its lease for this time, in milliseconds, no longer leads. */
const STALE_MS = 30_000;
/** Longest pause before a schedule on standby reads the leases again, in milliseconds. */
const CHECK_MS = 5000;
/** The same pause while another schedule is about to lead one of the same pipelines. */
const WAIT_MS = 500;

const contentShape = z.object({
  ...ownerShape.shape,
  pipelines: z.array(z.string()),
  since: z.iso.datetime(),
});
type Content = z.infer<typeof contentShape>;

const KIND: LeaseKind<Content> = {
  content: contentShape,
  ownerOf: (content) => content,
  staleMs: STALE_MS,
};

interface LeadershipOptions {
  readonly clock: Clock;
  /** Ends the wait for other schedules. */
  readonly signal: AbortSignal;
  /** Called with pipelines that no other schedule leads. This schedule leads them once the promise resolves. */
  readonly onLead: (pipelines: readonly string[]) => Promise<void>;
  /** Called with pipelines that another schedule leads, and the name of that schedule; again only after a change. */
  readonly onStandby: (pipelines: readonly string[], leader: string) => void;
  /** Called with pipelines that this schedule no longer leads, because another schedule considered it ended. */
  readonly onLost: (pipelines: readonly string[]) => void;
  /** Called when the leases cannot be read; not called again until they could be read in between. */
  readonly onFault: (error: unknown) => void;
}

/** A lease of some pipelines. A schedule has several leases if its pipelines became free one after the other. */
interface Lead {
  readonly pipelines: readonly string[];
  readonly lease: OwnLease;
}

/**
 * Decides which of its pipelines a schedule leads. Of all schedules that use the lake, on any machine, one leads each
 * pipeline. It leads none before `leadFree` is called, and must be closed.
 */
export class Leadership implements Leading {
  readonly #leases: Leases<Content>;
  readonly #pipelines: readonly string[];
  readonly #options: LeadershipOptions;
  readonly #leads = new Set<Lead>();
  /** The names of the other schedules that lead pipelines, by pipeline, when the leases were last read. */
  #leaders: ReadonlyMap<string, string> = new Map();
  #changed = new AbortController();
  readonly #closing = new AbortController();
  #watching: Promise<void> | undefined;

  constructor(lake: Lake, pipelines: readonly string[], options: LeadershipOptions) {
    this.#leases = new Leases(lake.storage.leases(FOLDER), KIND, options.clock);
    this.#pipelines = pipelines;
    this.#options = options;
  }

  /**
   * Leads the pipelines that no other schedule leads, and reports the other pipelines.
   *
   * @throws where the lake cannot be reached; what `onLead` throws; the signal's reason once it aborts.
   */
  async leadFree(): Promise<void> {
    for (let isDone = false; !isDone; ) {
      const missing = this.#pipelines.filter((pipeline) => !this.leads(pipeline));
      if (missing.length === 0) return this.#report(new Map());
      const others = await this.#leases.others((content) => overlap(content.pipelines, missing));
      const leaders = leadersIn(others.filter(({ state }) => state === "acquired"));
      this.#report(new Map([...leaders].filter(([pipeline]) => missing.includes(pipeline))));
      const free = missing.filter((pipeline) => !leaders.has(pipeline));
      isDone = free.length === 0 || (await this.#lead(free));
    }
  }

  /** Starts to call `leadFree` repeatedly, for pipelines that become free, until the leadership is closed. */
  watch(): void {
    this.#watching ??= this.#watch();
  }

  leads(pipeline: string): boolean {
    return this.#leadOf(pipeline) !== undefined;
  }

  /**
   * The name of the schedule that leads a pipeline, and since when; undefined where this one leads it, or none is
   * known.
   */
  leaderOf(pipeline: string): string | undefined {
    return this.leads(pipeline) ? undefined : this.#leaders.get(pipeline);
  }

  /**
   * A signal that aborts when the lead of a pipeline is found to be lost. It is already aborted if this schedule does
   * not lead the pipeline.
   */
  lostOf(pipeline: string): AbortSignal {
    return this.#leadOf(pipeline)?.lease.lost ?? AbortSignal.abort();
  }

  async confirm(pipeline: string): Promise<boolean> {
    const lease = this.#leadOf(pipeline)?.lease;
    return lease !== undefined && (lease.isValid || (await lease.renew().catch(() => false)));
  }

  get changed(): AbortSignal {
    return this.#changed.signal;
  }

  /** Gives up all leads, so that other schedules may lead the pipelines. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#watching;
    const released = await Promise.allSettled([...this.#leads].map(({ lease }) => lease.release()));
    this.#leads.clear();
    const errors = released.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
    if (errors.length > 0) throw firstOf(errors);
  }

  async #watch(): Promise<void> {
    const signal = AbortSignal.any([this.#options.signal, this.#closing.signal]);
    let isFaulty = false;
    for (;;) {
      await this.#options.clock.sleep(randomInt(1, CHECK_MS), signal).catch(() => {});
      if (signal.aborted) return;
      try {
        await this.leadFree();
        isFaulty = false;
      } catch (error) {
        if (signal.aborted) return;
        if (!isFaulty) this.#options.onFault(error);
        isFaulty = true;
      }
    }
  }

  /** Leads pipelines. @returns false where another schedule took one of them first. */
  async #lead(pipelines: readonly string[]): Promise<boolean> {
    const { signal, onLead } = this.#options;
    const lease = await this.#acquire(pipelines, AbortSignal.any([signal, this.#closing.signal]));
    if (lease === undefined) return false;
    try {
      await onLead(pipelines);
    } catch (error) {
      await lease.release().catch(() => {});
      throw error;
    }
    const lead = { pipelines, lease };
    this.#leads.add(lead);
    const lose = (): void => {
      if (!this.#leads.delete(lead)) return;
      this.#options.onLost(pipelines);
      this.#change();
    };
    if (lease.lost.aborted) lose();
    else lease.lost.addEventListener("abort", lose, { once: true });
    this.#change();
    return true;
  }

  async #acquire(pipelines: readonly string[], signal: AbortSignal): Promise<OwnLease | undefined> {
    const { clock } = this.#options;
    const content = {
      ...thisProcess(),
      pipelines: [...pipelines],
      since: new Date(clock.now()).toISOString(),
    };
    const conflicting = (all: readonly Lease<Content>[]): boolean =>
      all.some((other) => overlap(other.content.pipelines, pipelines));
    try {
      const lease = await acquireLease(
        this.#leases,
        content,
        {
          fits: (others) => !conflicting(others),
          rankOf: ({ since, machine, pid }) => `${since} ${machine} ${pid}`,
          expectFree(acquired) {
            if (conflicting(acquired)) throw new Taken();
          },
          pauseMs: WAIT_MS,
        },
        { clock, signal },
      );
      return lease;
    } catch (error) {
      if (error instanceof Taken) return undefined;
      throw error;
    }
  }

  #report(leaders: ReadonlyMap<string, string>): void {
    const before = this.#leaders;
    this.#leaders = leaders;
    for (const leader of new Set(leaders.values())) {
      const led = [...leaders.keys()].filter((pipeline) => leaders.get(pipeline) === leader);
      if (led.some((pipeline) => before.get(pipeline) !== leader)) this.#options.onStandby(led, leader);
    }
  }

  #change(): void {
    this.#changed.abort();
    this.#changed = new AbortController();
  }

  #leadOf(pipeline: string): Lead | undefined {
    for (const lead of this.#leads) if (lead.pipelines.includes(pipeline)) return lead;
    return undefined;
  }
}

/** The names of the schedules that lead pipelines of a lake, on any machine, by pipeline. It changes nothing. */
export async function scheduleLeaders({
  storage,
}: Pick<Lake, "storage">): Promise<ReadonlyMap<string, string>> {
  const living = await livingLeases(storage.leases(FOLDER), contentShape, STALE_MS);
  return new Map(
    living.flatMap((content) =>
      content.pipelines.map((pipeline) => [pipeline, nameOfOwner(content)] as const),
    ),
  );
}

/** The error where another schedule has taken one of the pipelines. */
class Taken extends Error {}

function overlap(one: readonly string[], other: readonly string[]): boolean {
  return one.some((pipeline) => other.includes(pipeline));
}

function leadersIn(leases: readonly Lease<Content>[]): Map<string, string> {
  return new Map(
    leases.flatMap(({ content }) =>
      content.pipelines.map(
        (pipeline) => [pipeline, `${nameOfOwner(content)}, since ${content.since}`] as const,
      ),
    ),
  );
}

import { z } from "zod";
import type { Clock } from "../../core/time.js";
import type { Lake } from "../../lake/lake.js";
import { acquireLease } from "../../lease/acquire-lease.js";
import { type Lease, type LeaseKind, Leases } from "../../lease/leases.js";
import { nameOfOwner, ownerShape, thisProcess } from "../../lease/owner.js";

/** Folder of the leases, in the lake's storage: all machines see them. */
const FOLDER = "leases/schedule";
/** A schedule that was silent for this time no longer leads. */
const STALE_MS = 30_000;
/** Longest pause before a schedule that stands by reads the leases again, in milliseconds. */
const LOOK_MS = 5000;

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

/** The right to run pipelines by their schedules, of all machines that use the lake. */
export interface Leadership {
  /** Aborts when it is found lost: another schedule leads. */
  readonly lost: AbortSignal;
  /** Whether this schedule still leads; false also where that cannot be found out now. */
  confirm(): Promise<boolean>;
  release(): Promise<void>;
}

export interface LeadOptions {
  readonly clock: Clock;
  /** Ends the wait. */
  readonly signal: AbortSignal;
  /** Called when it begins to stand by, and when another schedule leads then, with its name. It may throw to end the wait. */
  readonly onStandby: (leader: string) => void;
}

/**
 * Waits until no schedule of another process, on any machine, leads one of the pipelines, and leads them.
 *
 * @throws the signal's reason once it aborts.
 */
export async function lead(
  lake: Lake,
  pipelines: readonly string[],
  { clock, signal, onStandby }: LeadOptions,
): Promise<Leadership> {
  const leases = new Leases(lake.storage.leases(FOLDER), KIND, clock);
  const content: Content = {
    ...thisProcess(),
    pipelines: [...pipelines],
    since: new Date(clock.now()).toISOString(),
  };
  const conflicting = (all: readonly Lease<Content>[]): Lease<Content>[] =>
    all.filter((other) => other.content.pipelines.some((name) => pipelines.includes(name)));
  let reported = "";
  const { lease } = await acquireLease(
    leases,
    content,
    {
      fits: (others) => conflicting(others).length === 0,
      rankOf: ({ since, machine, pid }) => `${since} ${machine} ${pid}`,
      expectFree(acquired) {
        const leader = conflicting(acquired).map(nameOf).join(" and ");
        if (leader !== "" && leader !== reported) onStandby(leader);
        reported = leader;
      },
      pauseMs: LOOK_MS,
    },
    { clock, signal },
  );
  return {
    lost: lease.lost,
    confirm: async () => lease.isValid || (await lease.renew().catch(() => false)),
    release: () => lease.release(),
  };
}

function nameOf({ content }: Lease<Content>): string {
  return `${nameOfOwner(content)}, since ${content.since}`;
}

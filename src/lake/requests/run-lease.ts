import { dirname } from "node:path/posix";
import { z } from "zod";
import { LakeError, messageOf } from "../../core/errors.js";
import type { Clock } from "../../core/time.js";
import { acquireLease } from "../../lease/acquire-lease.js";
import { type Lease, type LeaseKind, Leases } from "../../lease/leases.js";
import { livingLeases } from "../../lease/living-leases.js";
import { nameOfOwner, type Owner, ownerShape, thisProcess } from "../../lease/owner.js";
import { tableNamed } from "../../schema/tables.js";
import type { Lake } from "../lake.js";
import { fenceOff } from "../log/commit.js";
import { type Fence, FencedError } from "../log/fence.js";

/** Folder of the leases, in the lake's storage: all machines see them. */
const FOLDER = "leases/runs";
/** A run that has not renewed its lease for this time, in milliseconds, counts as ended. */
export const STALE_RUN_MS = 60_000;
/** Longest pause before a run that waits reads the leases of others again, in milliseconds. */
const WAIT_MS = 5000;

const contentShape = z.object({
  ...ownerShape.shape,
  runId: z.string(),
  pipeline: z.string(),
  asks: z.array(z.string()),
  regions: z.array(z.string()).optional(),
  tables: z.array(z.string()),
  since: z.iso.datetime(),
  /** Absent in records of earlier versions. */
  service: z.string().optional(),
  options: z.string().optional(),
});
type Content = z.infer<typeof contentShape>;

export interface RunSubject {
  readonly runId: string;
  readonly pipeline: string;
  readonly asks: readonly string[];
  /** The regions whose data it requests. @default all */
  readonly regions?: readonly string[] | undefined;
  readonly tables: readonly string[];
  /** Host of the service, with its port. @default there is none */
  readonly service?: string | undefined;
  /** What the caller requested in addition to the pipeline, as JSON text. @default nothing */
  readonly options?: string | undefined;
}

export interface EndedRun {
  readonly runId: string;
  readonly pipeline: string;
  readonly tables: readonly string[];
  readonly service: string;
  readonly options: string;
  readonly owner: Owner;
  /** When it began, and its last sign of life; epoch milliseconds. */
  readonly startedAt: number;
  readonly seenAt: number;
}

/** The exclusive right of a run to request its subject, and to land it. */
export interface RunLease extends Fence {
  release(): Promise<void>;
}

interface RunLeaseOptions {
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  /** Called while the run waits, with a description of the runs that have the leases. */
  readonly onWait?: (holders: string) => void;
  /**
   * Called before the lease of a run whose process has ended is removed; of several runs that find it each may call. An error
   * does not stop the removal. @default nothing is done
   */
  readonly onEnded?: ((run: EndedRun) => Promise<void>) | undefined;
}

/**
 * Leases the subject of a run, so that no other run on the lake, on any machine, requests a part of it, and waits while
 * another one does. The lease of a run whose process of this machine has ended is taken over at once, that of another
 * machine a minute after its last renewal. Before that lease is removed, its run is prevented from committing to the
 * tables.
 *
 * @throws {LakeError} where the lease cannot be written, or a run that has ended cannot be prevented from committing;
 *   the signal's reason once it aborts.
 */
export async function takeRun(
  lake: Lake,
  subject: RunSubject,
  { clock, signal, onWait, onEnded }: RunLeaseOptions,
): Promise<RunLease> {
  /** What prevents the former holders of leases from being fenced off, by the id of the lease. */
  const unfenced = new Map<string, unknown>();
  const kind: LeaseKind<Content> = {
    content: contentShape,
    ownerOf: (content) => content,
    staleMs: STALE_RUN_MS,
    async onEnded({ id, state, content: ended, renewedAt: seenAt }) {
      if (state === "waiting") return;
      const {
        runId,
        pipeline,
        asks: _,
        tables: names,
        service = "",
        options = "{}",
        since,
        ...owner
      } = ended;
      try {
        for (const name of names) {
          const table = tableNamed(name);
          if (table !== undefined) await fenceOff(lake, table, { id, runId }, clock.now());
        }
      } catch (cause) {
        unfenced.set(id, cause);
        throw cause;
      }
      const times = { startedAt: Date.parse(since), seenAt };
      // What prevents the record prevents that of the run which goes on, too, and its report says so.
      await onEnded?.({ runId, pipeline, tables: names, service, options, owner, ...times }).catch(() => {});
    },
  };
  const leases = new Leases(lake.storage.leases(FOLDER), kind, clock);
  const { asks, regions, tables, ...of } = subject;
  const content: Content = {
    ...of,
    ...thisProcess(),
    asks: [...asks],
    ...(regions && { regions: [...regions] }),
    tables: [...tables],
    since: new Date(clock.now()).toISOString(),
  };
  const conflicting = (all: readonly Lease<Content>[]): Lease<Content>[] =>
    all.filter((other) => overlap(content, other.content));
  const lease = await acquireLease(
    leases,
    content,
    {
      fits: (others) => conflicting(others).length === 0,
      rankOf: ({ since, runId }) => `${since} ${runId}`,
      expectFree(acquired) {
        const holders = conflicting(acquired);
        // Such a lease would be waited for without end.
        for (const { id } of holders) if (unfenced.has(id)) throw unfenced.get(id);
        if (holders.length > 0) onWait?.(holders.map(holderText).join(" and "));
      },
      pauseMs: WAIT_MS,
    },
    { clock, signal },
  );
  return {
    id: lease.id,
    async confirm() {
      if (lease.isValid) return;
      const isThere = await lease.renew().catch((cause: unknown): never => {
        throw new LakeError(`lease of the run cannot be renewed: ${messageOf(cause)}`, { cause });
      });
      if (!isThere) throw new FencedError(`run of ${subject.pipeline}`);
    },
    async release() {
      await lease.release();
      // The folders remain where they contain leases of other runs.
      for (const folder of [FOLDER, dirname(FOLDER)]) await lake.storage.leases(folder).tidy();
    },
  };
}

export interface LeasedRun extends Owner, Pick<RunSubject, "pipeline" | "asks"> {}

/** The runs of a lake that have leases, on any machine, by id. It changes nothing. */
export async function leasedRuns({
  storage,
}: Pick<Lake, "storage">): Promise<ReadonlyMap<string, LeasedRun>> {
  const living = await livingLeases(storage.leases(FOLDER), contentShape, STALE_RUN_MS);
  return new Map(
    living.map(({ runId, pipeline, asks, host, pid }) => [runId, { pipeline, asks, host, pid }]),
  );
}

function overlap(a: Content, b: Content): boolean {
  const share = (one: readonly string[], other: readonly string[]): boolean =>
    one.some((name) => other.includes(name));
  const regionsMeet = a.regions === undefined || b.regions === undefined || share(a.regions, b.regions);
  return regionsMeet && share(a.asks, b.asks);
}

function holderText({ content }: Lease<Content>): string {
  return `"run ${content.pipeline}" (${nameOfOwner(content)}) since ${content.since}`;
}

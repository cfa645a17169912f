import { z } from "zod";
import { MINUTE_MS } from "../../core/time.js";
import type { LeaseStore } from "../../lease/lease-store.js";
import type { Lease, LeaseKind } from "../../lease/leases.js";
import { nameOfOwner, type Owner, ownerShape } from "../../lease/owner.js";
import type { Sent } from "./key-claims.js";

/** A holder that was silent for this time no longer has its part. */
const STALE_SHARE_MS = 60_000;
/** The clock of a store may have whole seconds only, and two of its times are compared. */
const STORE_CLOCK_MS = 1000;
/** Parts are divided in floating point. */
const ROUNDING = 1e-9;

const shareShape = z.object({
  ...ownerShape.shape,
  /** Identifies the user of the key: it has a record for each part that it has, or asks for. */
  holder: z.string(),
  purpose: z.string(),
  since: z.iso.datetime(),
  /** The largest part that the user asks for. */
  ask: z.number().positive().max(1),
  /** The part that it has, or waits for; 0 for a user that has ended. */
  share: z.number().min(0).max(1),
  /** Requests that count for the user that gets what this one gave up: by group, epoch milliseconds by the store's clock. */
  sent: z.record(z.string(), z.array(z.number())),
  /** Until when a user that died may have sent requests with its part. */
  died: z.object({ share: z.number(), at: z.number() }).optional(),
});

/** What others have sent with a part of a key before this process got it. */
export interface Taken {
  /** By group of endpoints, as epoch milliseconds. */
  readonly sent: Readonly<Partial<Record<string, readonly number[]>>>;
  /** Parts of users that died, and the latest time of their requests. */
  readonly died: readonly { readonly share: number; readonly at: number }[];
}

/** A part of a key's quota, as all machines see it. The key itself is in no record. */
export type ShareRecord = Readonly<z.infer<typeof shareShape>>;

/** The owner in the record of a user that has ended: it counts until it is stale. */
export const ENDED: Owner & { readonly machine: string } = { host: "", pid: 0, machine: "ended" };

/** The records in a store. A user that removes the record of a dead one first records what that one may have sent. */
export function shareKind(store: LeaseStore): LeaseKind<ShareRecord> {
  return {
    content: shareShape,
    ownerOf: (content) => content,
    staleMs: STALE_SHARE_MS,
    async onEnded({ id, state, content }) {
      const gone = `${id}-ended`;
      if (content.share === 0 || state === "waiting" || (await store.read(gone)) !== undefined) return;
      const died = { share: content.share, at: await store.now() };
      await store.create(gone, JSON.stringify({ ...content, ...ENDED, share: 0, died }), "acquired");
    },
  };
}

/** The part of each user: of several records, those of a change, the largest one. */
export function partsOf(records: readonly Lease<ShareRecord>[]): Map<string, ShareRecord> {
  const parts = new Map<string, ShareRecord>();
  for (const { content } of records) {
    if (content.share > (parts.get(content.holder)?.share ?? 0)) parts.set(content.holder, content);
  }
  return parts;
}

/** Whether a part can be added to those of others. */
export function fitsBeside(share: number, others: readonly Lease<ShareRecord>[]): boolean {
  let sum = share;
  for (const part of partsOf(others).values()) sum += part.share;
  return sum <= 1 + ROUNDING;
}

/** Times of this machine's clock, now and by the store's clock. */
export interface TwoClocks {
  readonly here: number;
  readonly store: number;
}

/** The requests of a group, by the store's clock. */
export function toStoreTimes(sent: Sent, { here, store }: TwoClocks): ShareRecord["sent"] {
  return Object.fromEntries(
    Object.entries(sent).map(([group, times = []]) => [group, times.map((at) => store - (here - at))]),
  );
}

/** Requests that may still count, by this machine's clock, at the latest times at which they can have been sent. */
function fromStoreTimes(times: readonly number[], { here, store }: TwoClocks): number[] {
  return times
    .map((at) => Math.min(here, here - (store - at) + STORE_CLOCK_MS))
    .filter((at) => at > here - MINUTE_MS - STORE_CLOCK_MS)
    .sort((a, b) => a - b);
}

/**
 * What the users that gave something up, ended or died have sent, and the ids of the records that say so. Own records are
 * among them: what this user gave up before, it may take again.
 *
 * @param counted ids of records that count already.
 */
export async function takenRequests(
  store: LeaseStore,
  clocks: TwoClocks,
  counted: ReadonlySet<string>,
): Promise<Taken & { readonly ids: ReadonlySet<string> }> {
  const ids = new Set<string>();
  const sent: Record<string, number[]> = {};
  const died: { share: number; at: number }[] = [];
  // A record that another user replaces while they are read has a successor: they are listed until none is new.
  for (;;) {
    const added = (await store.ids()).filter((id) => !counted.has(id) && !ids.has(id));
    if (added.length === 0) return { sent, died, ids };
    for (const id of added) {
      const record = await store.read(id);
      ids.add(id);
      const content = record && shareShape.safeParse(parsed(record.text)).data;
      if (content === undefined) continue;
      for (const [group, times] of Object.entries(content.sent))
        (sent[group] ??= []).push(...fromStoreTimes(times, clocks));
      const [at] = fromStoreTimes(content.died === undefined ? [] : [content.died.at], clocks);
      if (content.died !== undefined && at !== undefined) died.push({ share: content.died.share, at });
    }
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The users, as a text for messages. */
export function holdersText(records: readonly Lease<ShareRecord>[]): string {
  return [...partsOf(records).values()]
    .map((part) => `"${part.purpose}" (${nameOfOwner(part)}, ${Math.round(part.share * 100)} %)`)
    .join(" and ");
}

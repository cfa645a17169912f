import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Clock } from "../../core/time.js";
import { folderLeases } from "../../lease/folder-leases.js";
import { type Lease, type LeaseKind, Leases } from "../../lease/leases.js";

/** Sends older than this count for no quota. */
const SENT_MATTERS_MS = 120_000;
const SENT = ".sent.json";

const claimShape = z.object({
  pid: z.int().positive(),
  machine: z.string(),
  /** Identifies the machine; absent in claims of earlier releases. */
  machineId: z.string().optional(),
  /** What the key is used for: `run daily`. */
  purpose: z.string(),
  since: z.iso.datetime(),
  share: z.number().positive().max(1),
});

/** The use of a part of a key's quota by a process. */
export type Claim = Readonly<z.infer<typeof claimShape>>;

const sentShape = z.record(z.string(), z.array(z.number()));
/** When requests were sent, as epoch milliseconds, ascending, by group of endpoints. */
export type Sent = Readonly<Partial<Record<string, readonly number[]>>>;

const KIND: LeaseKind<Claim> = {
  content: claimShape,
  ownerOf: ({ machine, pid, machineId }) => ({ host: machine, pid, machine: machineId }),
  staleMs: 30_000,
  // The use of the whole key is the safe assumption.
  assumed: ({ renewedAt }) => ({
    pid: 1,
    machine: "an unknown machine",
    purpose: "unknown",
    since: new Date(renewedAt).toISOString(),
    share: 1,
  }),
};

/** What the processes that use one key share: a folder with the lease of each, and a record of its recent sends. */
export interface KeyClaims {
  readonly leases: Leases<Claim>;
  /** Records when the owner of a lease sent requests, for other processes once the lease is gone. */
  note(id: string, sent: Sent): Promise<void>;
  /** The recent sends under leases that are gone. */
  sentBefore(living: readonly Pick<Lease<Claim>, "id">[], now: number): Promise<Sent>;
}

export async function openKeyClaims(folder: string, clock: Clock): Promise<KeyClaims> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = (name: string): string => join(folder, name);
  return {
    leases: new Leases(folderLeases(folder, { ending: ".claim.json", isPrivate: true }), KIND, clock),
    async note(id, sent) {
      const draft = file(`${randomUUID()}.draft`);
      await writeFile(draft, `${JSON.stringify(sent)}\n`, { mode: 0o600 });
      await rename(draft, file(id + SENT));
    },
    async sentBefore(living, now) {
      const sums = new Map<string, number[]>();
      const names = (await readdir(folder)).filter((name) => name.endsWith(SENT));
      const gone = names.filter((name) => living.every(({ id }) => name !== id + SENT));
      for (const name of gone) {
        const sent = await readSent(file(name));
        const lately = Object.entries(sent).map(
          ([group, times]) => [group, times.filter((at) => at > now - SENT_MATTERS_MS)] as const,
        );
        for (const [group, times] of lately) sums.set(group, [...(sums.get(group) ?? []), ...times]);
        if (lately.every(([, times]) => times.length === 0)) await rm(file(name), { force: true });
      }
      return Object.fromEntries([...sums].map(([group, times]) => [group, times.sort((a, b) => a - b)]));
    },
  };
}

/** @returns nothing where the file is gone or invalid. */
async function readSent(path: string): Promise<z.infer<typeof sentShape>> {
  try {
    return sentShape.parse(JSON.parse(await readFile(path, "utf8")));
  } catch {
    return {};
  }
}

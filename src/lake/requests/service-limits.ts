import { randomUUID } from "node:crypto";
import { z } from "zod";
import { systemClock } from "../../client/system-clock.js";
import { releaseAfter } from "../../core/release-after.js";
import { type Clock, DAY_MS } from "../../core/time.js";
import { type AcquireRule, acquireLease } from "../../lease/acquire-lease.js";
import { type LeaseKind, Leases, type OwnLease } from "../../lease/leases.js";
import { ownerShape, thisProcess } from "../../lease/owner.js";
import type { Period } from "../../market/period.js";
import type { EndpointGroup, SizedRequests } from "../../wire/endpoints.js";
import type { Storage } from "../storage/storage.js";

/** The learned limits of a service; limits that are unknown, or were learned too long ago, are absent. */
export interface ServiceLimits {
  /** Requests per minute of the key, by group of endpoints. */
  readonly requestsPerMinute: Readonly<Partial<Record<EndpointGroup, number>>>;
  /** Most symbols of one request, by kind of request. */
  readonly symbolsPerRequest: Readonly<Partial<Record<SizedRequests, number>>>;
  /** Most bars of one symbol in one K-line response, by period; it depends on the key. */
  readonly rowCap: Readonly<Partial<Record<Period, number>>>;
  /** Tables that the service does not offer to the key, by name, with the HTTP status of the refusal. @default none */
  readonly refusedTables?: Readonly<Record<string, number>>;
}

interface LimitsOf {
  /** Host of the service, with its port. */
  readonly host: string;
  /** Identifies the key without revealing it. */
  readonly keyId: string;
}

/** Learned limits, and a note where their file was damaged. */
export interface KnownLimits {
  readonly limits: ServiceLimits;
  readonly note: string | undefined;
}

/** The limits of a service in a lake, which a run extends with what it learns. */
export interface LimitsStore extends KnownLimits {
  /** Records learned limits: whole numbers above 0. */
  learn(learned: Partial<ServiceLimits>): void;
  /** Resolves when all learned limits are saved. @throws {LakeError} the first error, where some cannot be saved. */
  saved(): Promise<void>;
}

/** Reads the limits of a service from a lake, and saves learned limits one after the other. */
export async function openLimitsStore(
  storage: Storage,
  of: LimitsOf,
  clock: Pick<Clock, "now">,
): Promise<LimitsStore> {
  let saving: Promise<void> = Promise.resolve();
  let failure: unknown;
  return {
    ...(await readServiceLimits(storage, of, clock.now())),
    learn(learned) {
      // A failed save does not stop the later ones; `saved` reports it.
      saving = saving
        .then(() => saveServiceLimits(storage, of, learned, clock.now()))
        .catch((error: unknown) => {
          failure ??= error;
        });
    },
    async saved() {
      await saving;
      if (failure !== undefined) throw failure;
    },
  };
}

/** Days after which a limit must be learned again: a key's plan changes more often than a service's software. */
const MAX_AGE_DAYS: Readonly<Record<keyof ServiceLimits, number>> = {
  requestsPerMinute: 7,
  symbolsPerRequest: 90,
  rowCap: 90,
  refusedTables: 7,
};

const CAPPED: EndpointGroup = "klines";

const learnedValue = z.object({ value: z.int().positive(), learnedAt: z.iso.datetime() });
const learnedValues = z.record(z.string(), learnedValue).default({});
const limitsFile = z.object({
  requestsPerMinute: learnedValues,
  symbolsPerRequest: learnedValues,
  rowCap: learnedValues,
  refusedTables: learnedValues,
});
type LimitsFile = z.infer<typeof limitsFile>;

/** The file of a service's limits in a lake: `limits/<host>.json`, the host with its port. */
export function limitsPath(host: string): string {
  return `limits/${encodeURIComponent(host).replaceAll("*", "%2A")}.json`;
}

/** @param now epoch milliseconds: limits that were learned too long before are left out. */
export async function readServiceLimits(
  storage: Storage,
  { host, keyId }: LimitsOf,
  now: number,
): Promise<KnownLimits> {
  const { file, note } = await readFile(storage, host);
  const fresh = freshOf(file, now);
  const valuesOf = (kind: keyof ServiceLimits): object =>
    Object.fromEntries(Object.entries(fresh[kind]).map(([name, { value }]) => [name, value]));
  const limits = {
    requestsPerMinute: valuesOf("requestsPerMinute"),
    symbolsPerRequest: valuesOf("symbolsPerRequest"),
    rowCap: capsOf(keyId, fresh.rowCap),
    refusedTables: refusedTablesOf(keyId, fresh.refusedTables),
  };
  return { limits, note };
}

/** The name of a cap in the file: caps differ by key, by group of endpoints and by period. */
function capName(keyId: string, period: string): string {
  return `${keyId}/${CAPPED}/${period}`;
}

function capsOf(keyId: string, caps: LimitsFile["rowCap"]): ServiceLimits["rowCap"] {
  const own = Object.entries(caps).flatMap(([name, { value }]) => {
    const period = name.slice(name.lastIndexOf("/") + 1);
    return name === capName(keyId, period) ? [[period, value] as const] : [];
  });
  return Object.fromEntries(own);
}

/** The tables that the service refuses to a key. In the file, their names have the key's id as a prefix. */
function refusedTablesOf(keyId: string, tables: LimitsFile["refusedTables"]): Record<string, number> {
  const own = Object.entries(tables).filter(([name]) => name.startsWith(`${keyId}/`));
  return Object.fromEntries(own.map(([name, { value }]) => [name.slice(keyId.length + 1), value]));
}

/** Former names with a plain hash of the key: a short key could be guessed from it, so these entries are dropped. */
const PLAIN_HASH = /^[0-9a-f]{32}\//;

/** The learned caps that are below the known ones: a known cap is only lowered until it expires. */
function loweredCaps(
  keyId: string,
  learned: ServiceLimits["rowCap"],
  known: LimitsFile["rowCap"],
): Record<string, number> {
  const named = Object.entries(learned).map(([period, value]) => [capName(keyId, period), value] as const);
  return Object.fromEntries(named.filter(([name, value]) => value < (known[name]?.value ?? Infinity)));
}

/**
 * Adds learned limits of a service to those in the lake. Processes on any machine take turns, so that none overwrites
 * what another one has learned.
 *
 * @param learned whole numbers above 0.
 * @param now epoch milliseconds.
 */
export async function saveServiceLimits(
  storage: Storage,
  { host, keyId }: LimitsOf,
  learned: Partial<ServiceLimits>,
  now: number,
): Promise<void> {
  const turn = await turnToSave(storage);
  const save = async (): Promise<void> => {
    const file = merged((await readFile(storage, host)).file, keyId, learned, now);
    if (await turn.renew()) await storage.put(limitsPath(host), `${JSON.stringify(file, undefined, 2)}\n`);
  };
  await releaseAfter(save, () => turn.release());
}

function merged(before: LimitsFile, keyId: string, learned: Partial<ServiceLimits>, now: number): LimitsFile {
  const known = freshOf(before, now);
  const learnedAt = new Date(now).toISOString();
  const caps = loweredCaps(keyId, learned.rowCap ?? {}, known.rowCap);
  const refused = Object.entries(learned.refusedTables ?? {}).map(([name, value]) => [
    `${keyId}/${name}`,
    value,
  ]);
  const own = { rowCap: caps, refusedTables: Object.fromEntries(refused) as Record<string, number> };
  const of = (kind: keyof ServiceLimits): LimitsFile[keyof LimitsFile] => {
    const values = { ...learned, ...own }[kind] ?? {};
    const added = Object.entries(values).map(([name, value]) => [name, { value, learnedAt }]);
    return { ...known[kind], ...Object.fromEntries(added) };
  };
  return limitsFile.parse({
    requestsPerMinute: of("requestsPerMinute"),
    symbolsPerRequest: of("symbolsPerRequest"),
    rowCap: of("rowCap"),
    refusedTables: of("refusedTables"),
  });
}

const turnShape = z.object({ ...ownerShape.shape, since: z.number(), id: z.string() });
type Turn = z.infer<typeof turnShape>;
const TURN: LeaseKind<Turn> = {
  content: turnShape,
  ownerOf: (content) => content,
  staleMs: 30_000,
};

/** Waits until no other process changes the limits, and leases them. */
async function turnToSave(storage: Storage): Promise<OwnLease> {
  const content = { ...thisProcess(), since: systemClock.now(), id: randomUUID() };
  const rule: AcquireRule<Turn> = {
    fits: (others) => others.length === 0,
    rankOf: ({ since, id }) => `${since} ${id}`,
    expectFree: () => {},
  };
  const leases = new Leases(storage.leases("leases/limits"), TURN, systemClock);
  return acquireLease(leases, content, rule, { clock: systemClock });
}

async function readFile(
  storage: Storage,
  host: string,
): Promise<{ readonly file: LimitsFile; readonly note: string | undefined }> {
  const path = limitsPath(host);
  const text = await storage.readText(path);
  try {
    return { file: limitsFile.parse(JSON.parse(text ?? "{}")), note: undefined };
  } catch {
    const note = `${path} is damaged: its limits of ${host} will be learned again`;
    return { file: limitsFile.parse({}), note };
  }
}

function freshOf(file: LimitsFile, now: number): LimitsFile {
  const fresh = (kind: keyof ServiceLimits): LimitsFile[keyof LimitsFile] => {
    const since = now - MAX_AGE_DAYS[kind] * DAY_MS;
    return Object.fromEntries(
      Object.entries(file[kind]).filter(
        ([name, { learnedAt }]) => Date.parse(learnedAt) > since && !PLAIN_HASH.test(name),
      ),
    );
  };
  return {
    requestsPerMinute: fresh("requestsPerMinute"),
    symbolsPerRequest: fresh("symbolsPerRequest"),
    rowCap: fresh("rowCap"),
    refusedTables: fresh("refusedTables"),
  };
}

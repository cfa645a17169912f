import { z } from "zod";
import { type Clock, DAY_MS } from "../../core/time.js";
import type { Period } from "../../market/period.js";
import type { EndpointGroup } from "../../wire/endpoints.js";
import type { Storage } from "../storage/storage.js";

/** What a service has shown that it permits; what is not known, or was learned too long ago, is absent. */
export interface ServiceLimits {
  /** Requests a minute of the key, by group of endpoints. */
  readonly requestsPerMinute: Readonly<Partial<Record<EndpointGroup, number>>>;
  /** Most symbols of one request, by group of endpoints. */
  readonly symbolsPerRequest: Readonly<Partial<Record<EndpointGroup, number>>>;
  /** Most bars of one symbol in one response about K-lines, by period: a fact about the key. */
  readonly rowCap: Readonly<Partial<Record<Period, number>>>;
}

/** Whom limits were learned about. */
export interface LimitsOf {
  /** Host of the service, with its port. */
  readonly host: string;
  /** What identifies the key, and does not reveal it. */
  readonly keyId: string;
}

/** Limits that were learned, and a note where the file that should hold them was damaged. */
export interface KnownLimits {
  readonly limits: ServiceLimits;
  readonly note: string | undefined;
}

/** What a lake knows of a service's limits, and where a run puts what it learns. */
export interface LimitsKeeper extends KnownLimits {
  /** Notes what was learned: whole numbers above 0. */
  learn(learned: Partial<ServiceLimits>): void;
  /** Resolves once all of it is saved. @throws {LakeError} where it cannot be. */
  saved(): Promise<void>;
}

/** Reads what a lake knows of a service, and saves what is learned, one thing after the other. */
export async function keepServiceLimits(
  storage: Storage,
  of: LimitsOf,
  clock: Pick<Clock, "now">,
): Promise<LimitsKeeper> {
  let saving: Promise<void> = Promise.resolve();
  return {
    ...(await readServiceLimits(storage, of, clock.now())),
    learn(learned) {
      const before = saving;
      saving = (async () => {
        await before;
        await saveServiceLimits(storage, of, learned, clock.now());
      })();
      // It is told of by `saved`.
      saving.catch(() => {});
    },
    saved: () => saving,
  };
}

/** Days after which a limit must be learned again: a key's plan changes sooner than a service's program. */
const MAX_AGE_DAYS: Readonly<Record<keyof ServiceLimits, number>> = {
  requestsPerMinute: 7,
  symbolsPerRequest: 90,
  rowCap: 90,
};

/** The group of endpoints whose caps are learned. */
const CAPPED: EndpointGroup = "klines";

const learnedValue = z.object({ value: z.int().positive(), learnedAt: z.iso.datetime() });
const learnedValues = z.record(z.string(), learnedValue).default({});
const limitsFile = z.object({
  requestsPerMinute: learnedValues,
  symbolsPerRequest: learnedValues,
  rowCap: learnedValues,
});
type LimitsFile = z.infer<typeof limitsFile>;

/** The file of a lake that holds what a service has shown: `limits/<host>.json`, the host with its port. */
export function limitsPath(host: string): string {
  return `limits/${encodeURIComponent(host).replaceAll("*", "%2A")}.json`;
}

/**
 * Reads what was learned of a service.
 *
 * @param now epoch milliseconds: what was learned too long before is left out.
 */
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
  };
  return { limits, note };
}

/** Where the file has a cap: caps differ by key, by group of endpoints and by period. */
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

/** Names by a plain hash of the key, as they were before: a short key could be guessed from it, so none is kept. */
const PLAIN_HASH = /^[0-9a-f]{32}\//;

/** What was learned of caps, without what is not below what is known: a cap is only lowered while it lives. */
function loweredCaps(
  keyId: string,
  learned: ServiceLimits["rowCap"],
  known: LimitsFile["rowCap"],
): Record<string, number> {
  const named = Object.entries(learned).map(([period, value]) => [capName(keyId, period), value] as const);
  return Object.fromEntries(named.filter(([name, value]) => value < (known[name]?.value ?? Infinity)));
}

/**
 * Adds what was learned of a service to what the lake has of it. Of two processes that do so in the same moment one
 * may overwrite the other's values: they are learned again.
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
  const known = freshOf((await readFile(storage, host)).file, now);
  const learnedAt = new Date(now).toISOString();
  const caps = loweredCaps(keyId, learned.rowCap ?? {}, known.rowCap);
  const merged = (kind: keyof ServiceLimits): LimitsFile[keyof LimitsFile] => {
    const values = kind === "rowCap" ? caps : (learned[kind] ?? {});
    const added = Object.entries(values).map(([name, value]) => [name, { value, learnedAt }]);
    return { ...known[kind], ...Object.fromEntries(added) };
  };
  const file = limitsFile.parse({
    requestsPerMinute: merged("requestsPerMinute"),
    symbolsPerRequest: merged("symbolsPerRequest"),
    rowCap: merged("rowCap"),
  });
  await storage.put(limitsPath(host), `${JSON.stringify(file, undefined, 2)}\n`);
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
    const note = `${path} is damaged: what it held about ${host} will be learned again`;
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
  };
}

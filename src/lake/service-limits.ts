import { z } from "zod";
import type { Period } from "../core/period.js";
import { type Clock, DAY_MS } from "../core/time.js";
import type { EndpointGroup } from "../wire/endpoints.js";
import type { Storage } from "./storage.js";

/** What a service has shown that it permits; what is not known, or was learned too long ago, is absent. */
export interface ServiceLimits {
  /** Requests a minute of the key, by group of endpoints. */
  readonly requestsPerMinute: Readonly<Partial<Record<EndpointGroup, number>>>;
  /** Most symbols of one request, by group of endpoints. */
  readonly symbolsPerRequest: Readonly<Partial<Record<EndpointGroup, number>>>;
  /** Most bars of one symbol in one answer, by period. */
  readonly rowCap: Readonly<Partial<Record<Period, number>>>;
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
export async function keepServiceLimits(storage: Storage, host: string, clock: Clock): Promise<LimitsKeeper> {
  let saving: Promise<void> = Promise.resolve();
  return {
    ...(await readServiceLimits(storage, host, clock.now())),
    learn(learned) {
      const before = saving;
      saving = (async () => {
        await before;
        await saveServiceLimits(storage, host, learned, clock.now());
      })();
      // It is told of by `saved`.
      saving.catch(() => {});
    },
    saved: () => saving,
  };
}

/** Days after which a limit must be learned anew: a key's plan changes sooner than a service's program. */
const MAX_AGE_DAYS: Readonly<Record<keyof ServiceLimits, number>> = {
  requestsPerMinute: 7,
  symbolsPerRequest: 90,
  rowCap: 90,
};

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
export async function readServiceLimits(storage: Storage, host: string, now: number): Promise<KnownLimits> {
  const { file, note } = await readFile(storage, host);
  const fresh = freshOf(file, now);
  const valuesOf = (kind: keyof ServiceLimits): object =>
    Object.fromEntries(Object.entries(fresh[kind]).map(([name, { value }]) => [name, value]));
  const limits = {
    requestsPerMinute: valuesOf("requestsPerMinute"),
    symbolsPerRequest: valuesOf("symbolsPerRequest"),
    rowCap: valuesOf("rowCap"),
  };
  return { limits, note };
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
  host: string,
  learned: Partial<ServiceLimits>,
  now: number,
): Promise<void> {
  const known = freshOf((await readFile(storage, host)).file, now);
  const learnedAt = new Date(now).toISOString();
  const merged = (kind: keyof ServiceLimits): LimitsFile[keyof LimitsFile] => {
    const added = Object.entries(learned[kind] ?? {}).map(([name, value]) => [name, { value, learnedAt }]);
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
      Object.entries(file[kind]).filter(([, { learnedAt }]) => Date.parse(learnedAt) > since),
    );
  };
  return {
    requestsPerMinute: fresh("requestsPerMinute"),
    symbolsPerRequest: fresh("symbolsPerRequest"),
    rowCap: fresh("rowCap"),
  };
}

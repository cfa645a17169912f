import { join } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { keyIdOf, keyIdSecret } from "../../client/key-id.js";
import { holdKey } from "../../client/key-lock.js";
import { keyNameOf } from "../../client/key-name.js";
import { KeyShares } from "../../client/key-shares.js";
import { type ByGroup, hostOf, ServiceClient } from "../../client/service-client.js";
import { systemClock } from "../../client/system-clock.js";
import { messageOf, UsageError } from "../../core/errors.js";
import { MINUTE_MS } from "../../core/time.js";
import type { Pipeline } from "../../jobs/pipeline/definition.js";
import type { Lake } from "../../lake/lake.js";
import { keepServiceLimits, type LimitsKeeper } from "../../lake/requests/service-limits.js";
import type { Storage } from "../../lake/storage/storage.js";
import { ENDPOINTS, type EndpointGroup } from "../../wire/endpoints.js";
import { stateFolder } from "../state-folder.js";
import { paint } from "../text/text.js";
import { keysPlace } from "./keys-place.js";
import type { CommonOptions } from "./lake-option.js";

/** Options of commands that send requests to a service. */
export interface ServiceOptions extends CommonOptions {
  readonly url?: string;
  readonly rpm?: number | ByGroup<number>;
  readonly share?: number;
  readonly minSpeed?: number;
  readonly maxResponseMinutes?: number;
}

/** A service with its key, of which other processes of this machine use only their shares. */
export interface OpenService {
  readonly client: ServiceClient;
  /** The known limits of the service; a run adds what it learns. */
  readonly limits: LimitsKeeper;
  /** Aborts, with the reason, when the key was given to another process. */
  readonly lost: AbortSignal;
  close(): Promise<void>;
}

/** The options, completed by a pipeline's quota. */
export function withQuota<Options extends ServiceOptions>(
  options: Options,
  { requestsPerMinute, share }: NonNullable<Pipeline["quota"]> = {},
): Options {
  const { rpm = requestsPerMinute, share: part = share } = options;
  return { ...options, ...(rpm !== undefined && { rpm }), ...(part !== undefined && { share: part }) };
}

/** Adds the options of commands that send requests to a service. */
export function serviceOptions(command: Command): Command {
  return command
    .addOption(urlOption())
    .addOption(rpmOption())
    .addOption(shareOption())
    .addOption(minSpeedOption())
    .addOption(maxResponseOption());
}

/** `--url URL`, from BARLAKE_URL. The key comes only from the environment, so that no process list shows it. */
export function urlOption(): Option {
  return new Option("--url <url>", "address of the service").env("BARLAKE_URL");
}

/** `--rpm`: the key's quota, if the user knows it. */
export function rpmOption(): Option {
  const says = "requests a minute that the key permits, or by group: klines=60,quotes=10 (default: learned)";
  return new Option("--rpm <n>", says).argParser(rpmOf);
}

/** `--share`: for several processes with one key. */
export function shareOption(): Option {
  const says = "part of the key's quota to use, where another process has the rest (default: 1)";
  return new Option("--share <part>", says).argParser(shareOf);
}

/** `--min-speed`: for connections slower than the default permits. */
export function minSpeedOption(): Option {
  const says =
    "bytes a second, over a minute, below which a response is given up, and requested again (default: 1024)";
  return new Option("--min-speed <bytes>", says).argParser(positive);
}

/** `--max-response-minutes`: the longest time to wait for one response. */
export function maxResponseOption(): Option {
  const says = "minutes after which a response that is not complete is given up (default: 30)";
  return new Option("--max-response-minutes <n>", says).argParser(positive);
}

/**
 * The service that options and environment name, with its limits as the lake knows them.
 *
 * @param purpose what the key is used for; other processes that request the key see this text.
 * @param signal ends the wait for a part of a key that other machines use.
 * @throws {UsageError} without an address or a key, or if another process uses the key.
 */
export async function openService(
  { url, rpm, share, minSpeed, maxResponseMinutes }: ServiceOptions,
  lake: Lake,
  purpose: string,
  signal?: AbortSignal,
): Promise<OpenService> {
  const { host, baseUrl, apiKey } = checkService({ url });
  const clock = systemClock;
  const limits = await limitsOf(lake, host, apiKey);
  if (limits.note !== undefined) note(limits.note);
  const place = await keysPlace(lake);
  const lock = await holdKey({ folder: join(stateFolder(), "keys"), host, apiKey, share, purpose, clock });
  const shares =
    place &&
    (await joinKey(place, { host, apiKey, share, purpose, signal }).catch(async (error: unknown) => {
      await lock.release();
      throw error;
    }));
  const client = new ServiceClient({
    baseUrl,
    apiKey,
    clock,
    share: shares?.share ?? share,
    right: shares,
    requestsPerMinute: rpm,
    learned: limits.limits.requestsPerMinute,
    // A part of a shared key comes with the requests that were sent with it.
    sentBefore: shares === undefined ? lock.sentBefore : undefined,
    limits: {
      ...(minSpeed !== undefined && { minBytesPerSecond: minSpeed }),
      ...(maxResponseMinutes !== undefined && { maxResponseMs: maxResponseMinutes * MINUTE_MS }),
    },
    onLearned: ({ group, requestsPerMinute }) =>
      limits.learn({ requestsPerMinute: { [group]: requestsPerMinute } }),
  });
  lock.report(() => client.sentLately());
  shares?.watch({
    sentLately: () => client.sentLately(),
    setShare: (part, taken) => client.setShare(part, taken),
  });
  return {
    client,
    limits,
    lost: shares === undefined ? lock.lost : AbortSignal.any([lock.lost, shares.lost]),
    async close() {
      await client.close();
      await shares?.release().catch((error: unknown) => note(`key for ${host}: ${messageOf(error)}`));
      await lock.release();
      await limits.saved().catch((error: unknown) => note(`limits of ${host}: ${messageOf(error)}`));
    },
  };
}

/** Waits for a part of a key that several machines use, and says for whom. */
async function joinKey(
  place: Storage,
  {
    host,
    apiKey,
    share,
    purpose,
    signal,
  }: {
    readonly host: string;
    readonly apiKey: string;
    readonly share: number | undefined;
    readonly purpose: string;
    readonly signal: AbortSignal | undefined;
  },
): Promise<KeyShares> {
  return KeyShares.join({
    store: place.leases(`keys/${await keyNameOf(host, apiKey)}`),
    host,
    ask: share,
    purpose,
    clock: systemClock,
    signal,
    onWait: (holders) => note(`the key for ${host} is used by ${holders}: waiting for a part of it`),
  });
}

/** What a lake knows of a service; the caps are those of the key. */
export async function limitsOf(lake: Lake, host: string, apiKey: string): Promise<LimitsKeeper> {
  const keyId = keyIdOf(await keyIdSecret(stateFolder()), host, apiKey);
  return keepServiceLimits(lake.storage, { host, keyId }, systemClock);
}

/** The service that options and environment name. @throws {UsageError} without an address or a key. */
export function checkService({ url }: { readonly url?: string | undefined }): {
  readonly host: string;
  readonly baseUrl: string;
  readonly apiKey: string;
} {
  const apiKey = process.env.BARLAKE_API_KEY;
  if (!url) {
    throw new UsageError("no service to ask", {
      hint: "set BARLAKE_URL, or give --url; barlake serve is such a service",
    });
  }
  if (!apiKey) throw new UsageError("no API key", { hint: "set BARLAKE_API_KEY" });
  return { host: hostOf(url), baseUrl: url, apiKey };
}

function note(text: string): void {
  process.stderr.write(`${paint("yellow", "note:")}  ${text}\n`);
}

function rpmOf(text: string): number | ByGroup<number> {
  if (!text.includes("=")) return positive(text);
  const groups = [...new Set<EndpointGroup>(Object.values(ENDPOINTS).map(({ group }) => group))];
  return Object.fromEntries(
    text.split(",").map((part) => {
      const [name = "", n = ""] = part.split("=").map((side) => side.trim());
      const group = groups.find((one) => one === name);
      if (group === undefined) throw new InvalidArgumentError(`${name} is not one of ${groups.join(", ")}`);
      return [group, positive(n)];
    }),
  );
}

function shareOf(text: string): number {
  const share = positive(text);
  if (share > 1) throw new InvalidArgumentError("must be a number above 0, up to 1");
  return share;
}

function positive(text: string): number {
  const n = Number(text);
  if (!(n > 0 && Number.isFinite(n))) throw new InvalidArgumentError("must be a number above 0");
  return n;
}

import { InvalidArgumentError, Option } from "commander";
import { type KeyUse, limitsOf, openKey } from "../../api/service/service-access.js";
import { type ByGroup, hostOf, type ServiceClient } from "../../client/service-client.js";
import { systemClock } from "../../client/system-clock.js";
import { messageOf, UsageError } from "../../core/errors.js";
import { MINUTE_MS } from "../../core/time.js";
import { type Quota, quotaOf } from "../../jobs/pipeline/definition.js";
import type { Lake } from "../../lake/lake.js";
import type { LimitsStore } from "../../lake/requests/service-limits.js";
import type { RunPlace } from "../../ui/runs/started-runs.js";
import { ENDPOINTS, type EndpointGroup } from "../../wire/endpoints.js";
import type { CliCommand } from "../cli.js";
import { paint } from "../text.js";
import type { CommonOptions } from "./lake-option.js";
import { positiveNumber } from "./options.js";

/** Options of commands that send requests to a service. */
export interface ServiceOptions extends CommonOptions {
  readonly url?: string;
  readonly rpm?: number | ByGroup<number>;
  readonly share?: number;
  readonly minSpeed?: number;
  readonly maxResponseMinutes?: number;
}

interface OpenService {
  readonly client: ServiceClient;
  /** The known limits of the service; a run adds what it learns. */
  readonly limits: LimitsStore;
  /** Aborts, with the reason, when the key was given to another process. */
  readonly lost: AbortSignal;
  close(): Promise<void>;
}

export function withQuota<Options extends ServiceOptions>(
  options: Options,
  { requestsPerMinute, share }: Quota = {},
): Options {
  const { rpm = requestsPerMinute, share: part = share } = options;
  return { ...options, ...(rpm !== undefined && { rpm }), ...(part !== undefined && { share: part }) };
}

export function serviceOptions(command: CliCommand): CliCommand {
  return command
    .addOptions(urlOption(), rpmOption(), shareOption())
    .option(
      "--min-speed <bytes>",
      "bytes a second, over a minute, below which a response is given up, and requested again (default: 1024)",
      positiveNumber,
    )
    .option(
      "--max-response-minutes <n>",
      "minutes after which a response that is not complete is given up (default: 30)",
      positiveNumber,
    );
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

/** `--share`: for processes that leave a part of the key to others. */
export function shareOption(): Option {
  const says = "largest part of the key's quota to use, above 0, up to 1 (default: 1)";
  return new Option("--share <part>", says).argParser(shareOf);
}

/**
 * The service that options and environment name, with its limits as the lake knows them.
 *
 * @param purpose what the key is used for; others that use the key see this text.
 * @param onNote called with a message for the user.
 * @throws {UsageError} without an address.
 */
export async function openService(
  { url, rpm, share, minSpeed, maxResponseMinutes }: ServiceOptions,
  lake: Lake,
  purpose: string,
  onNote = note,
): Promise<OpenService> {
  const { host, ...service } = checkService({ url });
  const use: KeyUse = {
    ...service,
    requestsPerMinute: rpm,
    share: share ?? environmentShare(),
    responseLimits: {
      ...(minSpeed !== undefined && { minBytesPerSecond: minSpeed }),
      ...(maxResponseMinutes !== undefined && { maxResponseMs: maxResponseMinutes * MINUTE_MS }),
    },
    purpose,
    onNote,
  };
  const limits = await limitsOf(lake, use);
  if (limits.note !== undefined) onNote(limits.note);
  const key = await openKey(use, lake, {
    learned: limits.limits.requestsPerMinute,
    onLearned: ({ group, requestsPerMinute }) =>
      limits.learn({ requestsPerMinute: { [group]: requestsPerMinute } }),
  });
  return {
    client: key.client,
    limits,
    lost: key.lost,
    async close() {
      await key.close();
      await limits.saved().catch((error: unknown) => onNote(`limits of ${host}: ${messageOf(error)}`));
    },
  };
}

/** The service that options and environment name. @throws {UsageError} without an address. */
export function checkService({ url }: { readonly url?: string | undefined }): Pick<
  KeyUse,
  "url" | "apiKey" | "environment" | "clock"
> & {
  readonly host: string;
} {
  // A service may answer without a key, as the free host of the public one does; another refuses with 401.
  const apiKey = process.env.BARLAKE_API_KEY ?? "";
  if (!url) {
    throw new UsageError("no service to ask", {
      hint: "set BARLAKE_URL, url in barlake.config.json, or --url; barlake serve is such a service",
    });
  }
  return { host: hostOf(url), url, apiKey, environment: process.env, clock: systemClock };
}

function note(text: string): void {
  process.stderr.write(`${paint("yellow", "note:")}  ${text}\n`);
}

function rpmOf(text: string): number | ByGroup<number> {
  if (!text.includes("=")) return positiveNumber(text);
  const groups = [...new Set<EndpointGroup>(Object.values(ENDPOINTS).map(({ group }) => group))];
  return Object.fromEntries(
    text.split(",").map((part) => {
      const [name = "", n = ""] = part.split("=").map((side) => side.trim());
      const group = groups.find((one) => one === name);
      if (group === undefined) throw new InvalidArgumentError(`${name} is not one of ${groups.join(", ")}`);
      return [group, positiveNumber(n)];
    }),
  );
}

/** The share that BARLAKE_SHARE gives; the share of a pipeline takes precedence. @throws {UsageError} */
function environmentShare(): number | undefined {
  const { BARLAKE_SHARE: text } = process.env;
  if (!text) return undefined;
  const share = Number(text);
  if (share > 0 && share <= 1) return share;
  throw new UsageError(`BARLAKE_SHARE ${text}: must be a number above 0, up to 1`, {
    hint: "barlake config shows where it comes from",
  });
}

function shareOf(text: string): number {
  const share = positiveNumber(text);
  if (share > 1) throw new InvalidArgumentError("must be a number above 0, up to 1");
  return share;
}

/** What runs of the workspace get their key from: the environment, as `run` does. */
export function workspaceRuns(lake: Lake, options: ServiceOptions): RunPlace {
  try {
    const { host, ...service } = checkService(options);
    return {
      kind: "ready",
      host,
      open: (pipeline) => openService(withQuota(options, quotaOf(pipeline)), lake, `ui ${pipeline.name}`),
      limits: async () => (await limitsOf(lake, service)).limits,
      requestsPerMinute: typeof options.rpm === "object" ? options.rpm.klines : options.rpm,
    };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const hint = `${error.hint ?? "set BARLAKE_URL"}; then start barlake ui again`;
    return { kind: "absent", message: error.message, hint };
  }
}

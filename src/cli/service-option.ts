import { InvalidArgumentError, Option } from "commander";
import { ServiceClient } from "../client/service-client.js";
import { systemClock } from "../client/system-clock.js";
import { UsageError } from "../core/errors.js";
import type { Pipeline } from "../jobs/pipeline.js";
import type { CommonOptions } from "./lake-option.js";

/** Options of commands that ask a service. */
export interface ServiceOptions extends CommonOptions {
  readonly url?: string;
  readonly rpm?: number;
}

/** The options, with a pipeline's quota where they say nothing of it. */
export function withQuota<Options extends ServiceOptions>(
  options: Options,
  { requestsPerMinute, share = 1 }: NonNullable<Pipeline["quota"]> = {},
): Options {
  if (options.rpm !== undefined || requestsPerMinute === undefined) return options;
  return { ...options, rpm: requestsPerMinute * share };
}

/** `--rpm N`. */
export function rpmOption(): Option {
  return new Option("--rpm <n>", "requests a minute of each endpoint group").argParser((text) => {
    const n = Number(text);
    if (!(n > 0)) throw new InvalidArgumentError("must be a number above 0");
    return n;
  });
}

/** `--url URL`, from BARLAKE_URL. The key is taken from the environment alone, so that it stands in no process list. */
export function urlOption(): Option {
  return new Option("--url <url>", "address of the service").env("BARLAKE_URL");
}

/** The client of the service that options and environment name. */
export function openClient(options: ServiceOptions): ServiceClient {
  const apiKey = process.env.BARLAKE_API_KEY;
  if (!options.url) {
    throw new UsageError("no service to ask", {
      hint: "set BARLAKE_URL, or give --url; barlake serve is such a service",
    });
  }
  if (!apiKey) throw new UsageError("no API key", { hint: "set BARLAKE_API_KEY" });
  return new ServiceClient({
    baseUrl: options.url,
    apiKey,
    clock: systemClock,
    requestsPerMinute: options.rpm,
  });
}

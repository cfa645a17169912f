import { RESPONSE_LIMITS, type ResponseLimits } from "../../client/response-limits.js";
import { type ByGroup, expectSendable, hostOf } from "../../client/service-client.js";
import { systemClock } from "../../client/system-clock.js";
import { UsageError } from "../../core/errors.js";
import type { Clock } from "../../core/time.js";
import type { Environment } from "../../object-store/access/profile-files.js";
import { ENDPOINT_GROUPS } from "../../wire/endpoints.js";
import { MarketService } from "./market-service.js";
import { ServiceAccess } from "./service-access.js";

/** Which service is asked, with which key, and how much of the key's quota is used. */
export interface ConnectOptions {
  /** Address of the service. @default BARLAKE_URL of the environment */
  readonly url?: string | undefined;
  /** Never written to a log, an error or an address. @default BARLAKE_API_KEY of the environment */
  readonly apiKey?: string | undefined;
  /** Requests a minute that the key permits, for each group of endpoints or by group. @default learned from refusals */
  readonly requestsPerMinute?: number | ByGroup<number> | undefined;
  /** The part of the key's quota, above 0, up to 1, where another process has the rest. @default 1 */
  readonly share?: number | undefined;
  /** How long a response may take, and how large it may be. */
  readonly responseLimits?: Partial<ResponseLimits> | undefined;
  /** What the key is used for, in a few words; other processes that request the key see it. @default "a program" */
  readonly purpose?: string | undefined;
  /** Receives what the user should know, such as a wait for other machines. @default nothing is reported */
  readonly onNote?: ((text: string) => void) | undefined;
  /** Names of variables and their values: the service, folders of this machine. @default those of this process */
  readonly environment?: Environment | undefined;
  /** @default the machine's clock */
  readonly clock?: Clock | undefined;
}

/**
 * Connects to a market data service. Nothing is sent, and the key is not claimed, before the first request. A key is for
 * one process at a time, unless each takes a `share`.
 *
 * @throws {UsageError} without an address or a key, or for one of the options that is not valid.
 */
export function connect(options: ConnectOptions = {}): MarketService {
  const {
    environment = process.env,
    clock = systemClock,
    purpose = "a program",
    onNote = () => {},
  } = options;
  const { url = environment.BARLAKE_URL, apiKey = environment.BARLAKE_API_KEY } = options;
  if (!url)
    throw new UsageError("connect: there is no address of a service", {
      hint: "set BARLAKE_URL, or give { url }; barlake serve is such a service",
    });
  if (!apiKey)
    throw new UsageError("connect: there is no API key", { hint: "set BARLAKE_API_KEY, or give { apiKey }" });
  hostOf(url);
  expectSendable(apiKey);
  const { requestsPerMinute, share, responseLimits } = options;
  expectNumbers("requestsPerMinute", requestsPerMinute, ENDPOINT_GROUPS, (n) => n > 0);
  expectNumbers("responseLimits", responseLimits, Object.keys(RESPONSE_LIMITS), (n) => n >= 0);
  expectNumbers("share", share, [], (n) => n > 0 && n <= 1);
  const quota = { requestsPerMinute, share, responseLimits };
  return new MarketService(new ServiceAccess({ url, apiKey, ...quota, purpose, onNote, environment, clock }));
}

/**
 * Checks an option that is a number, or an object of numbers.
 *
 * @param names of its members. @param isFine whether a number is in the option's range.
 * @throws {UsageError} naming the member and its value.
 */
function expectNumbers(
  option: string,
  value: number | object | undefined,
  names: readonly string[],
  isFine: (n: number) => boolean,
): void {
  const members: [string, unknown][] =
    typeof value === "object"
      ? Object.entries(value).map(([name, member]) => [`${option}.${name}`, member])
      : [[option, value]];
  for (const [name, member] of members) {
    const isKnown = name === option || names.some((one) => name === `${option}.${one}`);
    if (!isKnown)
      throw new UsageError(`connect: ${name} is not known`, { hint: `known: ${names.join(", ")}` });
    if (member !== undefined && !(typeof member === "number" && isFine(member)))
      throw new UsageError(
        `connect: ${name}: ${typeof member === "number" ? member : JSON.stringify(member)} is not a number in its range`,
      );
  }
}

import { UsageError } from "../../core/errors.js";
import type { Clock } from "../../core/time.js";
import type { Lake, PointInTime } from "../../lake/lake.js";
import { type Service, type ServiceOptions, startService } from "../../serve/http/service.js";
import { type KeyRing, plainKeys } from "../../serve/keys/key-ring.js";

/** How a lake is served. */
export interface ServeOptions extends Omit<ServiceOptions, "keys" | "port" | "clock" | "pointInTime"> {
  /** 0 takes any free port. @default 0 */
  readonly port?: number | undefined;
  /** Keys that may request everything, or a ring of keys, each with separate limits. */
  readonly keys: readonly string[] | KeyRing;
  /** The time of limits and responses. @default that of the lake */
  readonly clock?: Clock | undefined;
}

/** A running service; disposing it closes it. */
export interface LakeServer extends Service, AsyncDisposable {}

/**
 * Serves a lake.
 *
 * @throws {UsageError} without a key; {@link LakeError} where the lake cannot be read; {@link BarlakeError} where it cannot
 *   listen on the address.
 */
export async function serveLake(
  lake: Lake,
  { keys, port = 0, clock = lake.clock, ...options }: ServeOptions,
  pointInTime: PointInTime,
): Promise<LakeServer> {
  const ring = "callerOf" in keys ? keys : ringOf(keys);
  const service = await startService(lake, { ...options, keys: ring, port, clock, pointInTime });
  return { ...service, [Symbol.asyncDispose]: () => service.close() };
}

function ringOf(keys: readonly string[]): KeyRing {
  const given = keys.filter((key) => key !== "");
  if (given.length > 0) return plainKeys(given);
  throw new UsageError("serve: keys has no key: nobody could ask the service", {
    hint: "give at least one text that callers send in x-api-key",
  });
}

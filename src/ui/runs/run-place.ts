import type { ServiceClient } from "../../client/service-client.js";
import type { Pipeline } from "../../jobs/pipeline/definition.js";
import type { LimitsStore, ServiceLimits } from "../../lake/requests/service-limits.js";

/** A service and its key, for one run. */
export interface RunService {
  readonly client: ServiceClient;
  readonly limits: LimitsStore;
  /** Aborts, with the reason, when the key was given to another process. */
  readonly lost: AbortSignal;
  close(): Promise<void>;
}

/**
 * Where runs that are started from the page get their key: from the process that started the workspace. The key itself
 * is not contained in this object.
 */
export type RunPlace =
  | {
      readonly kind: "ready";
      /** Host of the service, with its port. */
      readonly host: string;
      /** Claims the key for a run of a pipeline. @throws {UsageError} where another process uses it. */
      open(pipeline: Pipeline, signal: AbortSignal): Promise<RunService>;
      /** The known limits of the service and the key, for plans. */
      limits(): Promise<ServiceLimits>;
      /** Requests per minute of K-lines, as given by the user; undefined: the learned number is used. */
      readonly requestsPerMinute: number | undefined;
    }
  | { readonly kind: "absent"; readonly message: string; readonly hint: string };

/** For a workspace that has no key. */
export const NO_RUN_PLACE: RunPlace = {
  kind: "absent",
  message: "this workspace was started without a key",
  hint: "set BARLAKE_URL and BARLAKE_API_KEY, in the environment or in .env, and start barlake ui again",
};

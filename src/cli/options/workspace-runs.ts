import { limitsOf } from "../../api/service/open-key.js";
import { UsageError } from "../../core/errors.js";
import { quotaOf } from "../../jobs/pipeline/definition.js";
import type { Lake } from "../../lake/lake.js";
import type { RunPlace } from "../../ui/runs/run-place.js";
import { checkService, openService, type ServiceOptions, withQuota } from "./service-option.js";

/** What runs of the workspace get their key from: the environment, as `run` does. */
export function workspaceRuns(lake: Lake, options: ServiceOptions): RunPlace {
  try {
    const { host, ...service } = checkService(options);
    return {
      kind: "ready",
      host,
      open: (pipeline, signal) =>
        openService(withQuota(options, quotaOf(pipeline)), lake, `ui ${pipeline.name}`, { signal }),
      limits: async () => (await limitsOf(lake, service)).limits,
      requestsPerMinute: typeof options.rpm === "object" ? options.rpm.klines : options.rpm,
    };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const hint = `${error.hint ?? "set BARLAKE_API_KEY"}; then start barlake ui again`;
    return { kind: "absent", message: error.message, hint };
  }
}

import { collectDefaultMetrics, Registry } from "prom-client";

let ofProcess: Registry | undefined;

/**
 * Every metric of a registry, and those of this process, in Prometheus' text format. The metrics of the process are
 * collected once: each collection has a timer that wakes the process a hundred times a second for as long as it runs.
 */
export function withProcessMetrics(registry: Registry): Promise<string> {
  return Registry.merge([processMetrics(), registry]).metrics();
}

/** The metrics of this process. The first call starts to collect them. */
export function processMetrics(): Registry {
  if (ofProcess === undefined) {
    ofProcess = new Registry();
    collectDefaultMetrics({ register: ofProcess });
  }
  return ofProcess;
}

import { isEndpointRefusal } from "../../../client/response-error.js";
import { ServiceError } from "../../../core/errors.js";
import type { ServiceFault } from "./request-records.js";

/** Number of refusals of an endpoint after which a run sends it no more requests, if it has received no response of it. */
const MOST_REFUSALS = 5;

/**
 * Recognises the datasets of a run whose endpoint the service does not have: it refuses their requests with 404, and has
 * not responded to one. Other datasets may have responses, so that this is no reason to pause or to stop the run.
 */
export class RefusedDatasets {
  readonly #received = new Set<string>();
  readonly #refusals = new Map<string, number>();

  /** Records a response: the dataset's endpoint exists. */
  received(dataset: string): void {
    this.#received.add(dataset);
  }

  /**
   * Records a failed request.
   *
   * @returns undefined where it does not show that the endpoint is absent; else the reason to request no more of the
   *   dataset, or "" while there are too few refusals.
   */
  refused(dataset: string, fault: ServiceFault): string | undefined {
    const isRefusal = fault instanceof ServiceError && fault.status === 404 && isEndpointRefusal(fault);
    if (!isRefusal || this.#received.has(dataset)) return undefined;
    const refusals = (this.#refusals.get(dataset) ?? 0) + 1;
    this.#refusals.set(dataset, refusals);
    if (refusals < MOST_REFUSALS) return "";
    return `${refusals} requests were refused and none was answered, the last with: ${fault.message}`;
  }
}

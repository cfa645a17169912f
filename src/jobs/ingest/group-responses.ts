import type { Lake } from "../../lake/lake.js";

/**
 * Most responses that are landed together, where the responses that this machine has received are no part of the lake.
 * When the machine dies, another one requests again what had not landed: for each run at most the group that is landing,
 * the group that is collected, and the requests in flight.
 */
export const SHARED_GROUP_RESPONSES = 16;

/** Most responses that are landed together; in a folder the next run, on any machine, lands what a killed run had received. */
export function groupResponses({ isShared }: Pick<Lake, "isShared">): number {
  return isShared ? SHARED_GROUP_RESPONSES : Number.POSITIVE_INFINITY;
}

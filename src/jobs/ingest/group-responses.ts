import type { Lake } from "../../lake/lake.js";

/**
 * Most responses that land together, in a lake that does not contain the responses that this machine has received. If
 * the machine dies, another one requests again what the ledger does not have: for each run at most two groups, of which
 * one may be landing, and the requests in flight.
 */
export const SHARED_GROUP_RESPONSES = 16;

/**
 * Most responses that land together. In a folder there is no limit: the next run, on any machine, lands what a killed
 * run had received.
 */
export function groupResponses({ isShared }: Pick<Lake, "isShared">): number {
  return isShared ? SHARED_GROUP_RESPONSES : Number.POSITIVE_INFINITY;
}

import type { SentRequest } from "../../src/object-store/http/store-transport.js";

type RequestCounts = Readonly<Partial<Record<SentRequest["kind"], number>>>;

/** Makes a counter of requests. `observe` is to be used as `onRequest` of a store. */
export function countRequests(): {
  readonly observe: (sent: SentRequest) => void;
  /** The numbers of requests since the last call. */
  readonly take: () => RequestCounts;
} {
  let counts: Partial<Record<SentRequest["kind"], number>> = {};
  return {
    observe: ({ kind }) => {
      counts[kind] = (counts[kind] ?? 0) + 1;
    },
    take: () => {
      const taken = counts;
      counts = {};
      return taken;
    },
  };
}

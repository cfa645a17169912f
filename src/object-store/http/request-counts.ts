/** What a request to an object store does. */
export type RequestKind =
  | "get"
  | "head"
  | "put"
  | "delete"
  | "list"
  | "beginUpload"
  | "uploadPart"
  | "completeUpload"
  | "abortUpload";

/** A request that was sent, also one that is sent again. */
export interface SentRequest {
  readonly kind: RequestKind;
  /** Undefined for a list. */
  readonly key: string | undefined;
  /** 1, or higher where an earlier attempt failed. */
  readonly attempt: number;
}

/** How many requests were sent, by kind. */
export type RequestCounts = Readonly<Partial<Record<RequestKind, number>>>;

/** Counts requests: `observe` is the `onRequest` of a store. */
export function countRequests(): {
  readonly observe: (sent: SentRequest) => void;
  /** The requests since the last call. */
  readonly take: () => RequestCounts;
} {
  let counts: Partial<Record<RequestKind, number>> = {};
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

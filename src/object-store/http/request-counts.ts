/** The kinds of requests to an object store. */
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

/** A request that was sent, for the first time or again. */
export interface SentRequest {
  readonly kind: RequestKind;
  /** Undefined for a list. */
  readonly key: string | undefined;
  /** 1, or higher where an earlier attempt failed. */
  readonly attempt: number;
}

/** Numbers of requests that were sent, by kind. */
export type RequestCounts = Readonly<Partial<Record<RequestKind, number>>>;

/** Makes a counter of requests. `observe` is to be used as `onRequest` of a store. */
export function countRequests(): {
  readonly observe: (sent: SentRequest) => void;
  /** The numbers of requests since the last call. */
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

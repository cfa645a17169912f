/**
 * The as-of time of a request. It alone decides what "now" is, and which rows of the lake are visible. Every endpoint
 * and the stream use the as-of time of their view.
 */
export interface AsOfTime {
  /** Epoch milliseconds. */
  readonly now: number;
  /**
   * Rows that became known after this instant (epoch milliseconds, inclusive) are not visible to the request. It is a
   * whole minute of the replayed time. Undefined: the whole lake is visible.
   */
  readonly visibleUntil: number | undefined;
}

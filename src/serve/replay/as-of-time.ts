/**
 * The as-of time of a request: the one place that decides what is "now", and what of the lake is visible. Every endpoint
 * and the stream use that of their view.
 */
export interface AsOfTime {
  /** Epoch milliseconds. */
  readonly now: number;
  /**
   * Rows that became known after this instant (epoch milliseconds, inclusive) do not exist for a request: a whole minute
   * of the replayed time. Undefined: the whole lake is visible.
   */
  readonly visibleUntil: number | undefined;
}

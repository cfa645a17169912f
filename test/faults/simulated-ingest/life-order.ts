/** What a worker is to do: live a life of the schedule of a seed. */
export interface LifeOrder {
  /** Where the lake is, and what is written down. */
  readonly folder: string;
  readonly seed: number;
  readonly life: number;
  /** Epoch milliseconds. */
  readonly start: number;
}

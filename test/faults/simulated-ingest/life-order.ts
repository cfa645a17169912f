/** An order for a worker: to live one life of a seed's schedule. */
export interface LifeOrder {
  /** Folder of the lake and of the chronicle. */
  readonly folder: string;
  readonly seed: number;
  readonly life: number;
  /** Epoch milliseconds. */
  readonly start: number;
}

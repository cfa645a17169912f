/** Whether the owner of a record waits for its lease, or has acquired it. */
export type LeaseState = "waiting" | "acquired";

/** A record of a lease, as its store has it now. */
export interface LeaseRecord {
  readonly text: string;
  readonly state: LeaseState;
  /** When the owner last renewed the record, in epoch milliseconds by the clock of the store. */
  readonly renewedAt: number;
}

/**
 * Where processes that share something store the records of their leases: a folder, or objects of a store.
 *
 * All forms guarantee:
 * - **Whole records.** A record is complete as soon as any process sees it. Its text never changes.
 * - **Unique ids.** An id is used for one record only, so the removal of a record never removes a later one.
 * - **Consistency.** A call that begins after a record was created, renewed or removed, in any process, sees it. So of
 *   two processes that each create a record and then list the records, at least one sees the record of the other.
 * - **One clock.** All times are of the store: the clocks of the machines that share it differ.
 *
 * A form whose store has conditional writes uses them: `create` fails where the id exists (If-None-Match), `renew` and
 * `remove` where the record has changed since it was read (If-Match of its ETag).
 */
export interface LeaseStore {
  /** Ids of all records; none where nothing was ever created. */
  ids(): Promise<string[]>;
  /** @returns undefined where there is no such record. */
  read(id: string): Promise<LeaseRecord | undefined>;
  /** Creates a record that is renewed now. */
  create(id: string, text: string, state: LeaseState): Promise<void>;
  /** Sets the state of a record, renewed now. It never creates one. @returns whether the record still exists. */
  renew(id: string, state: LeaseState): Promise<boolean>;
  /**
   * Removes a record, if it exists.
   *
   * @param renewedAt the renewal that the caller has seen: a record that was renewed since then remains.
   * @returns whether the record is gone now.
   */
  remove(id: string, renewedAt?: number): Promise<boolean>;
  /** The current time by the clock of the store, in epoch milliseconds. */
  now(): Promise<number>;
  /** Removes what only records need, such as their folder, where no record is left. */
  tidy(): Promise<void>;
}

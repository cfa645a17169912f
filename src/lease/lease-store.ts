/** Whether the owner of a record is waiting for its lease, or has acquired it. */
export type LeaseState = "waiting" | "acquired";

/** The present state of a lease's record in its store. */
export interface LeaseRecord {
  readonly text: string;
  readonly state: LeaseState;
  /** When the owner last renewed the record, in epoch milliseconds by the clock of the store. */
  readonly renewedAt: number;
}

/**
 * A store for the records of leases, shared by several processes: a folder, or objects in an object store.
 *
 * All forms guarantee:
 * - **Whole records.** A record is complete as soon as any process sees it. Its text never changes.
 * - **Unique ids.** An id is used for one record only, so the removal of a record never removes a later one.
 * - **Consistency.** A call that begins after a record was created, renewed or removed, in any process, sees the
 *   change. So of two processes that each create a record and then list the records, at least one sees the record of
 *   the other.
 * - **One clock.** All times are read from the clock of the store, because the clocks of the machines that share it
 *   differ.
 *
 * A form whose store has conditional writes uses them: `create` fails where the id exists (If-None-Match), `renew` and
 * `remove` where the record has changed since it was read (If-Match of its ETag).
 */
export interface LeaseStore {
  /** Ids of all records; empty where no record exists. */
  ids(): Promise<string[]>;
  /** @returns undefined where there is no such record. */
  read(id: string): Promise<LeaseRecord | undefined>;
  /** Creates a record, with the current time as that of its renewal. */
  create(id: string, text: string, state: LeaseState): Promise<void>;
  /** Sets the state of a record and renews it. It never creates a record. @returns whether the record still exists. */
  renew(id: string, state: LeaseState): Promise<boolean>;
  /**
   * Removes a record, if it exists.
   *
   * @param renewedAt the renewal that the caller has seen; a record that was renewed since remains.
   * @returns whether the record does not exist any more.
   */
  remove(id: string, renewedAt?: number): Promise<boolean>;
  /** The current time by the clock of the store, in epoch milliseconds. */
  now(): Promise<number>;
  /** Removes everything that only records need, such as their folder, if no record is left. */
  tidy(): Promise<void>;
}

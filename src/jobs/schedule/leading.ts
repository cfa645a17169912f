/** The pipelines that a schedule leads: no other schedule runs them. */
export interface Leading {
  /** Whether this schedule leads a pipeline, as far as it knows. */
  leads(pipeline: string): boolean;
  /** The name of the schedule that leads a pipeline; undefined where this one leads it, or none is known. */
  leaderOf(pipeline: string): string | undefined;
  /**
   * Whether this schedule still leads a pipeline, according to the leases; false also where they cannot be read now.
   */
  confirm(pipeline: string): Promise<boolean>;
  /** Aborts at the next change of the led pipelines. After that, this member is a new signal. */
  readonly changed: AbortSignal;
}

/** For a schedule that is the only one of its lake: it leads all pipelines. */
export const LEADS_ALL: Leading = {
  leads: () => true,
  leaderOf: () => undefined,
  confirm: async () => true,
  changed: new AbortController().signal,
};

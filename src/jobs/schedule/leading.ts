/** Which pipelines a schedule leads: no other schedule runs them. */
export interface Leading {
  /** Whether this schedule leads a pipeline, as far as it knows. */
  leads(pipeline: string): boolean;
  /** The schedule that leads a pipeline; undefined where this one leads, or that is not known. */
  leaderOf(pipeline: string): string | undefined;
  /** Whether this schedule still leads a pipeline; false also where the leases cannot be read now. */
  confirm(pipeline: string): Promise<boolean>;
  /** Aborts at the next change of what is led; then it is another signal. */
  readonly changed: AbortSignal;
}

/** The only schedule of a lake. */
export const LEADS_ALL: Leading = {
  leads: () => true,
  leaderOf: () => undefined,
  confirm: async () => true,
  changed: new AbortController().signal,
};

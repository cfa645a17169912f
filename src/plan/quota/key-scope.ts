/** New evidence in a response about the scope of the limit; undefined where there is none. */
export type ScopeEvidence = "key" | "group" | undefined;

/** Time in milliseconds between two requests that test whether the limit still applies to the whole key. */
const PROBE_EVERY_MS = 3 * 60_000;

/**
 * Finds out whether a service limits each group of endpoints or the whole key. While one group must wait, the first
 * response to another group decides: a limit of the key would refuse it, a limit of the group would not. It is a class
 * because it stores what the responses have shown.
 */
export class KeyScope {
  #isKey = false;
  /** The wait of a refused group; undefined once a response to another group has decided. */
  #open: { readonly group: string; readonly from: number; readonly until: number } | undefined;
  #probeAt = 0;

  /** Whether the limit applies to the whole key. */
  get isKey(): boolean {
    return this.#isKey;
  }

  /**
   * Records that a request of a group was refused.
   *
   * @param sentAt when the request was sent.
   * @param until when its wait ends. All times are epoch milliseconds.
   */
  refused(group: string, sentAt: number, now: number, until: number): ScopeEvidence {
    if (!this.#isDecidedBy(group, sentAt, now)) {
      if (this.#open === undefined || this.#open.group === group || now >= this.#open.until)
        this.#open = { group, from: now, until };
      return undefined;
    }
    this.#open = undefined;
    if (this.#isKey) return undefined;
    this.#isKey = true;
    this.#probeAt = now + PROBE_EVERY_MS;
    return "key";
  }

  /** Records that a request of a group was accepted. */
  passed(group: string, sentAt: number, now: number): ScopeEvidence {
    if (!this.#isDecidedBy(group, sentAt, now)) return undefined;
    this.#open = undefined;
    if (!this.#isKey) return undefined;
    this.#isKey = false;
    return "group";
  }

  /**
   * Whether a request of a group is to be sent although the key is waiting. At intervals, one request tests whether the
   * limit still applies to the whole key. If this returns true, the request must be sent.
   */
  takesProbe(group: string, now: number): boolean {
    const { from, until, group: waiting } = this.#open ?? { from: now, until: now, group };
    if (waiting === group || now < from || now >= until || now < this.#probeAt) return false;
    this.#probeAt = now + PROBE_EVERY_MS;
    return true;
  }

  #isDecidedBy(group: string, sentAt: number, now: number): boolean {
    const open = this.#open;
    return open !== undefined && group !== open.group && sentAt > open.from && now < open.until;
  }
}

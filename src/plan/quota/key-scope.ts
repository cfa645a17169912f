/** What a response has shown of the scope of the limit, where it has shown something new. */
export type ScopeEvidence = "key" | "group" | undefined;

/** Time between two requests that test whether the limit is one of the whole key still. */
const PROBE_EVERY_MS = 3 * 60_000;

/**
 * Finds out whether a service limits each group of endpoints or the whole key. While a group has been asked to wait, the
 * first response to another group decides: a limit of the key would refuse it, a limit of the group would not. A class
 * because it holds what the responses have shown.
 */
export class KeyScope {
  #isKey = false;
  /** The wait that a group was asked for; undefined once another group's response has decided. */
  #open: { readonly group: string; readonly from: number; readonly until: number } | undefined;
  #probeAt = 0;

  /** Whether the limit is one of the whole key. */
  get isKey(): boolean {
    return this.#isKey;
  }

  /**
   * A request of a group was refused.
   *
   * @param sentAt when it was sent. @param until when the wait that it was asked for is over.
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

  /** A request of a group was accepted. */
  passed(group: string, sentAt: number, now: number): ScopeEvidence {
    if (!this.#isDecidedBy(group, sentAt, now)) return undefined;
    this.#open = undefined;
    if (!this.#isKey) return undefined;
    this.#isKey = false;
    return "group";
  }

  /**
   * Whether a request of a group is to be sent although the key waits: once in a while one tests whether the limit is
   * the key's still. Where it says yes, the request must be sent.
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

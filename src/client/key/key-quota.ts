import { type Clock, MINUTE_MS } from "../../core/time.js";
import { KeyScope, type ScopeEvidence } from "../../plan/quota/key-scope.js";
import type { Send } from "../../plan/quota/send-log.js";
import type { EndpointGroup } from "../../wire/endpoints.js";
import { QuotaGate, type QuotaGateOptions, type QuotaState } from "./quota-gate.js";

/** What others have sent with a part of a key before this process got it. */
export interface Taken {
  /** By group of endpoints, as epoch milliseconds. */
  readonly sent: Readonly<Partial<Record<string, readonly number[]>>>;
  /** Parts of users that died, and the latest time of their requests. */
  readonly died: readonly { readonly share: number; readonly at: number }[];
}

/** Permit to send one request. Its holder reports how the request ended; only the first report counts. */
export interface Permit {
  /** The service accepted the request, or its outcome is unknown. */
  passed(): void;
  /** The request was not sent: it does not count. */
  unsent(): void;
  /** The request is sent now, later than it was permitted. */
  sentNow(): void;
  /** The service refused it for the quota. @param retryAfterMs the wait that the service gave, in milliseconds. */
  refused(retryAfterMs: number | undefined): void;
}

export type GroupOptions = Omit<QuotaGateOptions, "clock">;

/** How long what was taken is kept: longer than it counts, also if it reached the service late. */
const KEPT_MS = 3 * MINUTE_MS;

/** The name of requests that count for the whole key, and for no group, when they are handed over. */
const WHOLE_KEY = "*";

interface Waiting {
  readonly group: EndpointGroup;
  readonly turn: number;
  readonly grant: (permit: Permit) => void;
}

/**
 * Sends the requests of a key: as many of each group of endpoints as its quota permits in any minute, in the order of
 * their turns, and none of a group during a wait that the service has asked for. Where the refusals show that the limit
 * applies to the whole key, all groups share one quota.
 */
export class KeyQuota {
  readonly #clock: Clock;
  readonly #optionsOf: (group: EndpointGroup) => GroupOptions;
  readonly #groups = new Map<EndpointGroup, QuotaGate>();
  readonly #key: QuotaGate;
  readonly #scope = new KeyScope();
  #share: number | undefined;
  /** What others have sent lately with what this process took. */
  #taken: Taken = { sent: {}, died: [] };
  #queue: Waiting[] = [];
  #alarm: { readonly at: number; readonly controller: AbortController } | undefined;

  /** @param share the part of the key's quota that this process may use. */
  constructor(clock: Clock, optionsOf: (group: EndpointGroup) => GroupOptions, share?: number) {
    this.#clock = clock;
    this.#optionsOf = optionsOf;
    this.#share = share;
    this.#key = new QuotaGate({ clock, share });
  }

  /**
   * Applies another part of the key's quota, from now on.
   *
   * @param taken what others have sent with what was added to the part.
   */
  setShare(share: number, taken: Taken): void {
    this.#share = share;
    // A group that is asked for later counts them, too.
    this.#taken = bothTaken(this.#taken, taken, this.#clock.now() - KEPT_MS);
    for (const [group, gate] of this.#groups) gate.setShare(share, taken.sent[group] ?? [], taken.died);
    const ofAll = Object.values(taken.sent).flatMap((times = []) => times);
    this.#key.setShare(share, ofAll, taken.died);
    this.#grant();
  }

  /**
   * Applies a smaller part of the key's quota, from now on.
   *
   * @returns own requests that now count for others: see {@link QuotaGate.giveUp}.
   */
  giveUp(share: number): Record<string, readonly number[]> {
    this.#share = share;
    const excess = [...this.#groups].map(([group, gate]) => [group, gate.giveUp(share)] as const);
    const excessOfKey = this.#key.giveUp(share);
    const ofGroups = excess.flatMap(([, times]) => times);
    return Object.fromEntries([
      ...excess,
      // Others count these for the limit of the whole key only.
      [WHOLE_KEY, this.#scope.isKey ? withoutEach(excessOfKey, ofGroups) : []],
    ]);
  }

  /** Whether the refusals have shown a limit of the whole key. */
  get isOfKey(): boolean {
    return this.#scope.isKey;
  }

  /** The state of a group's quota. */
  stateOf(group: EndpointGroup): QuotaState {
    const now = this.#clock.now();
    const gate = this.#gate(group);
    const ends = [gate.pausedUntil, this.#queue.length > 0 ? (this.#alarm?.at ?? 0) : 0];
    if (!this.#scope.isKey) return { ...gate.state, waitingUntil: later(ends, now) };
    const key = this.#key.state;
    const limits = [gate.state.limit, key.limit].filter((limit) => limit !== undefined);
    return {
      limit: limits.length === 0 ? undefined : Math.min(...limits),
      learned: gate.state.learned || key.learned,
      usedLastMinute: key.usedLastMinute,
      waits: gate.state.waits + key.waits,
      waitingUntil: later([...ends, this.#key.pausedUntil], now),
    };
  }

  /** When requests of each group were sent in the last minute, as epoch milliseconds, ascending. */
  get sentLately(): Partial<Record<EndpointGroup, readonly number[]>> {
    return Object.fromEntries([...this.#groups].map(([group, gate]) => [group, gate.sentLately]));
  }

  /**
   * Resolves when a request of a group may be sent; the caller must then send it.
   *
   * @param turn lower turns go first, equal ones in the order of the calls.
   * @throws the signal's reason once it aborts.
   */
  acquire(group: EndpointGroup, turn: number, signal?: AbortSignal): Promise<Permit> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason as Error);
      const cancel = (): void => {
        this.#queue.splice(this.#queue.indexOf(waiting), 1);
        if (this.#queue.length === 0) this.#clearAlarm();
        reject(signal?.reason as Error);
      };
      const grant = (permit: Permit): void => {
        signal?.removeEventListener("abort", cancel);
        resolve(permit);
      };
      const waiting = { group, turn, grant };
      const after = this.#queue.findIndex((other) => other.turn > turn);
      this.#queue.splice(after < 0 ? this.#queue.length : after, 0, waiting);
      signal?.addEventListener("abort", cancel, { once: true });
      this.#grant();
    });
  }

  /** Grants every permit that is due, and sleeps until the next one is. */
  #grant(): void {
    const now = this.#clock.now();
    const blocked = new Set<EndpointGroup>();
    let wakeAt = Number.POSITIVE_INFINITY;
    // A copy: the queue changes during the loop.
    for (const waiting of this.#queue.slice()) {
      const { group } = waiting;
      if (blocked.has(group)) continue;
      const at = this.#nextAt(group, now);
      if (at === undefined || at > now) {
        blocked.add(group);
        wakeAt = Math.min(wakeAt, at ?? Number.POSITIVE_INFINITY);
        continue;
      }
      this.#queue.splice(this.#queue.indexOf(waiting), 1);
      waiting.grant(this.#permit(group, now));
    }
    if (this.#alarm?.at === wakeAt) return;
    this.#clearAlarm();
    if (wakeAt < Number.POSITIVE_INFINITY) void this.#sleepUntil(wakeAt, now);
  }

  #nextAt(group: EndpointGroup, now: number): number | undefined {
    const own = this.#gate(group).nextAt(now);
    if (own === undefined || !this.#scope.isKey) return own;
    if (own <= now && this.#scope.takesProbe(group, now)) return now;
    const key = this.#key.nextAt(now);
    return key === undefined ? undefined : Math.max(own, key);
  }

  #permit(group: EndpointGroup, now: number): Permit {
    const gate = this.#gate(group);
    const [own, shared] = [gate.send(now), this.#key.send(now)];
    let isOver = false;
    const once = (report: () => void) => (): void => {
      if (isOver) return;
      isOver = true;
      report();
      this.#grant();
    };
    return {
      passed: once(() => {
        gate.passed(own);
        this.#key.passed(shared);
        this.#judge(this.#scope.passed(group, now, this.#clock.now()));
      }),
      unsent: once(() => {
        gate.unsent(own);
        this.#key.unsent(shared);
      }),
      sentNow: () => {
        if (isOver) return;
        gate.sentNow(own);
        this.#key.sentNow(shared);
      },
      refused: (retryAfterMs) => once(() => this.#refused(group, own, shared, retryAfterMs))(),
    };
  }

  #refused(group: EndpointGroup, own: Send, shared: Send, retryAfterMs: number | undefined): void {
    const gate = this.#gate(group);
    if (this.#scope.isKey) {
      gate.uncount(own);
      this.#key.refused(shared, retryAfterMs);
      this.#scope.refused(group, own.sentAt, this.#clock.now(), this.#key.pausedUntil);
      return;
    }
    this.#key.uncount(shared);
    gate.refused(own, retryAfterMs);
    const { pausedUntil } = gate;
    this.#judge(this.#scope.refused(group, own.sentAt, this.#clock.now(), pausedUntil));
    // The refusals so far were those of the key: the limits that they gave the groups are dropped, and all groups wait.
    if (this.#scope.isKey) this.#key.pause(pausedUntil);
  }

  #judge(evidence: ScopeEvidence): void {
    if (evidence === "key") for (const gate of this.#groups.values()) gate.forget();
    if (evidence === "group") this.#key.forget();
  }

  async #sleepUntil(at: number, now: number): Promise<void> {
    const controller = new AbortController();
    this.#alarm = { at, controller };
    // A cancelled sleep is not an error.
    await this.#clock.sleep(at - now, controller.signal).catch(() => controller.abort());
    if (controller.signal.aborted) return;
    this.#alarm = undefined;
    this.#grant();
  }

  #clearAlarm(): void {
    this.#alarm?.controller.abort();
    this.#alarm = undefined;
  }

  #gate(group: EndpointGroup): QuotaGate {
    let gate = this.#groups.get(group);
    if (gate === undefined) {
      const options = this.#optionsOf(group);
      const share = this.#share ?? options.share;
      gate = new QuotaGate({ clock: this.#clock, ...options, share });
      gate.setShare(share ?? 1, this.#taken.sent[group] ?? [], this.#taken.died);
      this.#groups.set(group, gate);
    }
    return gate;
  }
}

/** The requests of two lists, by group. */
export function bothSent(one: Taken["sent"], other: Taken["sent"]): Record<string, number[]> {
  const groups = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries(
    [...groups].map((group) => [group, [...(one[group] ?? []), ...(other[group] ?? [])]]),
  );
}

/** What was taken at two times, without what is older than a time. */
function bothTaken(one: Taken, other: Taken, since: number): Taken {
  const sent = Object.entries(bothSent(one.sent, other.sent)).map(
    ([group, times]) => [group, times.filter((at) => at > since)] as const,
  );
  return {
    sent: Object.fromEntries(sent),
    died: [...one.died, ...other.died].filter(({ at }) => at > since),
  };
}

/** Times without those of another list. A time that is in a list several times counts as often. */
function withoutEach(times: readonly number[], others: readonly number[]): number[] {
  const left = new Map<number, number>();
  for (const at of others) left.set(at, (left.get(at) ?? 0) + 1);
  return times.filter((at) => {
    const count = left.get(at) ?? 0;
    left.set(at, count - 1);
    return count <= 0;
  });
}

function later(times: readonly number[], now: number): number | undefined {
  const last = Math.max(...times);
  return last > now ? last : undefined;
}

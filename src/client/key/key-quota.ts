import { type Clock, MINUTE_MS } from "../../core/time.js";
import {
  afterAcceptance,
  afterRefusal,
  CLOCK_MARGIN_MS,
  countedAt,
  freeAt,
  initialRate,
  isLearned,
  KeyScope,
  MAX_ARRIVAL_MS,
  type QuotaState,
  type Rate,
  type Refusal,
  type Refusals,
  recentSends,
  type Send,
  testAt,
  tryAt,
  tryHigher,
  usedInMinute,
  withoutEach,
} from "../../plan/quota/rate.js";
import { ENDPOINT_GROUPS, type EndpointGroup } from "../../wire/endpoints.js";
import type { Taken } from "./key-shares.js";

export interface GroupOptions {
  /** Configured requests a minute of the key; never exceeded. @default learned from refusals */
  readonly configured?: number | undefined;
  /** Requests a minute of the key that an earlier run has learned: a first value; higher ones are tried. */
  readonly learned?: number | undefined;
  /** Called with the key's requests a minute when a whole minute of this process's own requests shows a new number. */
  readonly onLearned?: ((requestsPerMinute: number) => void) | undefined;
}

/**
 * The quota of one scope, a group of endpoints or the whole key: when its next request may be sent, and which limits the
 * responses show. After a wait, one request is sent ahead of the others.
 */
class QuotaGate {
  readonly #clock: Clock;
  readonly #options: GroupOptions;
  #share: number;
  readonly #startedAt: number;
  #rate: Rate;
  #sends: Send[] = [];
  /** Until when the service asked to wait, as epoch milliseconds. */
  pausedUntil = 0;
  /** What was known before a burst of refusals, and the time of its first. */
  #refusal: { readonly before: Rate; readonly at: number } | undefined;
  #probe: Send | "needed" | undefined;
  /** The last request before the last step of a trial. */
  #lastStep: Send | undefined;
  /** Refusals in a row that gave no wait. */
  #silent: Refusals | undefined;
  #waits = 0;

  /** @param share the part of the key's quota that this process may use, above 0, up to 1. */
  constructor(clock: Clock, share: number, options: GroupOptions = {}) {
    this.#clock = clock;
    this.#options = options;
    this.#share = share;
    this.#startedAt = clock.now();
    this.#rate = initialRate(options.configured, options.learned, this.#startedAt);
  }

  get state(): Omit<QuotaState, "waitingUntil"> {
    return {
      limit: this.#limit,
      learned: isLearned(this.#rate),
      usedLastMinute: usedInMinute(this.#sends, this.#clock.now()),
      waits: this.#waits,
    };
  }

  /**
   * Applies another part of the key's quota.
   *
   * @param taken requests of others, as epoch milliseconds, that count for what was added. @param died parts of the key
   *   whose users may have used them up by a time.
   * @returns whether requests of users that died count.
   */
  setShare(share: number, taken: readonly number[], died: readonly { share: number; at: number }[]): boolean {
    this.#share = share;
    const keyLimit = this.#rate.limit ?? 0;
    const used = died.flatMap((one) => Array.from({ length: Math.ceil(one.share * keyLimit) }, () => one.at));
    // When they reached the service is not known.
    const added = [...taken, ...used].map((at): Send => ({ sentAt: at, respondedAt: at + MAX_ARRIVAL_MS }));
    this.#sends = [...this.#sends, ...added].sort((a, b) => a.sentAt - b.sentAt);
    return used.length > 0;
  }

  /**
   * Applies a smaller part of the key's quota.
   *
   * @returns when own requests were sent that are too many for this part, as epoch milliseconds: they no longer count
   *   here, but for the user that gets the rest of the quota.
   */
  giveUp(share: number): number[] {
    this.#share = share;
    const limit = this.#limit;
    if (limit === undefined) return [];
    const counted = this.#counted;
    const excess = counted.slice(0, Math.max(0, counted.length - Math.max(1, Math.floor(limit))));
    const gone = new Set(excess);
    this.#sends = this.#sends.filter((send) => !gone.has(send));
    return excess.map(({ sentAt }) => sentAt);
  }

  /** When requests of the last minute were sent that were accepted or may be, as epoch milliseconds, ascending. */
  get sentLately(): number[] {
    return this.#counted.map(({ sentAt }) => sentAt);
  }

  get #counted(): Send[] {
    const recent = recentSends(this.#sends, this.#limit, this.#clock.now());
    return recent.filter(({ isRefused }) => isRefused !== true);
  }

  /**
   * When the next request may be sent, as epoch milliseconds; undefined until the request sent ahead has its response.
   * Where the limit is used up and a trial is due, a higher limit is tried.
   */
  nextAt(now: number): number | undefined {
    if (typeof this.#probe === "object") return undefined;
    const [first, last] = [this.#sends[0], this.#sends.at(-1)];
    // The log is shortened by a minute at a time, which costs little where there is no limit.
    if ((first && first.sentAt < now - 2 * MINUTE_MS) || (last && last.sentAt > now))
      this.#sends = recentSends(this.#sends, this.#limit, now);
    let at = this.#freeAt();
    if (at > now && this.pausedUntil <= now && this.#tryHigher(now)) at = this.#freeAt();
    // A trial of a higher limit may be due before the limit permits a request.
    if (at > now && this.#rate.proven === undefined) at = Math.min(at, Math.max(now + 1, tryAt(this.#rate)));
    return Math.ceil(Math.max(this.pausedUntil, at));
  }

  send(now: number): Send {
    const send: Send = { sentAt: now };
    this.#sends.push(send);
    if (this.#probe === "needed") this.#probe = send;
    return send;
  }

  /** Records that the service accepted a request, or that its outcome is unknown. */
  passed(send: Send): void {
    const now = this.#clock.now();
    send.respondedAt = now;
    if (this.#probe === send) this.#probe = undefined;
    if (send.sentAt <= (this.#refusal?.at ?? -1)) return;
    this.#silent = undefined;
    const rate = this.#rate;
    if (rate.unexplained === undefined && rate.proven === undefined && rate.shortWaits === 0) return;
    const since = rate.unexplained?.resumesAt ?? 0;
    const sent = this.#sends.filter(({ sentAt, isRefused }) => sentAt >= since && isRefused !== true).length;
    this.#learn(afterAcceptance(rate, now, Math.floor(sent / this.#share)));
  }

  /**
   * Records that the service refused a request for the quota. @param retryAfterMs the wait that it gave, in
   * milliseconds.
   */
  refused(send: Send, retryAfterMs: number | undefined): void {
    const now = this.#clock.now();
    send.respondedAt = now;
    send.isRefused = true;
    if (this.#refusal === undefined || send.sentAt > this.#refusal.at) {
      this.#refusal = { before: this.#rate, at: now };
      this.#waits += 1;
      if (retryAfterMs === undefined) {
        const turnsOverAt = freeAt(this.#sends, countedAt(this.#sends, send));
        const first = this.#silent ?? { count: 0, since: now, turnsOverAt };
        this.#silent = { ...first, count: first.count + 1 };
      }
    }
    const pauseMs = retryAfterMs ?? (this.#silent ? testAt(this.#silent, now) - now : 0);
    this.pausedUntil = Math.max(
      this.pausedUntil,
      now + pauseMs + Math.floor((pauseMs * CLOCK_MARGIN_MS) / MINUTE_MS),
    );
    this.#probe = "needed";
    const { before, at } = this.#refusal;
    const accepted = countedAt(this.#sends, send);
    const refusal: Refusal = {
      now: at,
      accepted: Math.ceil(accepted / this.#share),
      retryAfterMs,
      resumesAt: this.pausedUntil,
      turnsOverMs: accepted === 0 ? 0 : freeAt(this.#sends, accepted) - at,
      isWholeMinute: at - this.#startedAt >= MINUTE_MS,
    };
    this.#learn(afterRefusal(before, refusal));
  }

  /** Waits until a time, in epoch milliseconds, that another scope was given; then one request is sent ahead. */
  pause(until: number): void {
    this.pausedUntil = Math.max(this.pausedUntil, until);
    this.#probe = "needed";
  }

  /** Drops the limit and the wait that refusals have caused: they were refusals of another scope. */
  forget(): void {
    const { configured, learned } = this.#options;
    this.pausedUntil = 0;
    this.#probe = undefined;
    this.#rate = initialRate(configured, learned, this.#clock.now());
  }

  /** Records that a request was refused for another scope's quota: it does not count here. */
  uncount(send: Send): void {
    send.respondedAt = this.#clock.now();
    send.isRefused = true;
    if (this.#probe === send) this.#probe = undefined;
  }

  /** Takes back a request that was not sent. Where it was to be sent ahead of the others, the next one is. */
  unsent(send: Send): void {
    this.#sends = this.#sends.filter((other) => other !== send);
    if (this.#probe === send) this.#probe = "needed";
  }

  /** Records that a request is sent now, and not when it was permitted. */
  sentNow(send: Send): void {
    const sentAt = this.#clock.now();
    const others = this.#sends.filter((other) => other !== send);
    // The log no longer has it where it was permitted minutes ago, or before the clock was set back.
    if (sentAt <= send.sentAt && others.length < this.#sends.length) return;
    send.sentAt = sentAt;
    this.#sends = [...others, send].sort((a, b) => a.sentAt - b.sentAt);
  }

  #freeAt(): number {
    const limit = this.#limit;
    if (limit === undefined) return Number.NEGATIVE_INFINITY;
    const last = this.#rate.isSpaced && this.#sends.findLast(({ isRefused }) => isRefused !== true);
    const spaced = last ? last.sentAt + MINUTE_MS / limit : 0;
    return Math.max(freeAt(this.#sends, limit), spaced);
  }

  /** Makes the next step of a trial, once the previous step was used and accepted. @returns whether it made one. */
  #tryHigher(now: number): boolean {
    if (now < tryAt(this.#rate)) return false;
    const last = this.#sends.at(-1);
    if (this.#rate.proven !== undefined && (last === this.#lastStep || last?.respondedAt === undefined))
      return false;
    this.#lastStep = last;
    const before = Math.floor(this.#limit ?? 0);
    const used = usedInMinute(this.#sends, now) / this.#share;
    do this.#rate = tryHigher(this.#rate, used, now);
    while (now >= tryAt(this.#rate) && Math.floor(this.#limit ?? 0) === before);
    return true;
  }

  #learn(rate: Rate): void {
    const { confirmed } = rate;
    const isNew = confirmed !== undefined && confirmed !== this.#rate.confirmed && isLearned(rate);
    this.#rate = rate;
    if (isNew) this.#options.onLearned?.(confirmed);
  }

  get #limit(): number | undefined {
    return this.#rate.limit === undefined ? undefined : this.#rate.limit * this.#share;
  }
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
  readonly #groups: Readonly<Record<EndpointGroup, QuotaGate>>;
  readonly #key: QuotaGate;
  readonly #scope = new KeyScope();
  #queue: Waiting[] = [];
  #alarm: { readonly at: number; readonly controller: AbortController } | undefined;

  /** @param share the part of the key's quota that this process may use, above 0, up to 1. */
  constructor(clock: Clock, optionsOf: (group: EndpointGroup) => GroupOptions, share = 1) {
    this.#clock = clock;
    const gates = ENDPOINT_GROUPS.map((group) => [group, new QuotaGate(clock, share, optionsOf(group))]);
    this.#groups = Object.fromEntries(gates) as Record<EndpointGroup, QuotaGate>;
    this.#key = new QuotaGate(clock, share);
  }

  /**
   * Applies another part of the key's quota, from now on.
   *
   * @param taken what others have sent with what was added to the part.
   * @returns whether requests of users that died count: some do where a limit is known.
   */
  setShare(share: number, taken: Taken): boolean {
    const counts = Object.entries(this.#groups).map(([group, gate]) =>
      gate.setShare(share, taken.sent[group] ?? [], taken.died),
    );
    const ofAll = Object.values(taken.sent).flatMap((times = []) => times);
    counts.push(this.#key.setShare(share, ofAll, taken.died));
    this.#grant();
    return counts.includes(true);
  }

  /**
   * Applies a smaller part of the key's quota, from now on.
   *
   * @returns own requests that now count for others: see {@link QuotaGate.giveUp}.
   */
  giveUp(share: number): Record<string, readonly number[]> {
    const excess = Object.entries(this.#groups).map(([group, gate]) => [group, gate.giveUp(share)] as const);
    const excessOfKey = this.#key.giveUp(share);
    const ofGroups = excess.flatMap(([, times]) => times);
    return Object.fromEntries([
      ...excess,
      // Others count these for the limit of the whole key only, and for no group.
      ["*", this.#scope.isKey ? withoutEach(excessOfKey, ofGroups) : []],
    ]);
  }

  /** Whether the refusals have shown a limit of the whole key. */
  get isOfKey(): boolean {
    return this.#scope.isKey;
  }

  stateOf(group: EndpointGroup): QuotaState {
    const now = this.#clock.now();
    const gate = this.#groups[group];
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

  /** When requests of each group that has any were sent in the last minute, as epoch milliseconds, ascending. */
  get sentLately(): Partial<Record<EndpointGroup, readonly number[]>> {
    const sent = Object.entries(this.#groups).map(([group, gate]) => [group, gate.sentLately] as const);
    return Object.fromEntries(sent.filter(([, times]) => times.length > 0));
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
    const own = this.#groups[group].nextAt(now);
    if (own === undefined || !this.#scope.isKey) return own;
    if (own <= now && this.#scope.takesProbe(group, now)) return now;
    const key = this.#key.nextAt(now);
    return key === undefined ? undefined : Math.max(own, key);
  }

  #permit(group: EndpointGroup, now: number): Permit {
    const gate = this.#groups[group];
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
    const gate = this.#groups[group];
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

  #judge(evidence: ReturnType<KeyScope["passed"]>): void {
    if (evidence === "key") for (const gate of Object.values(this.#groups)) gate.forget();
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
}

function later(times: readonly number[], now: number): number | undefined {
  const last = Math.max(...times);
  return last > now ? last : undefined;
}

import { type Clock, MINUTE_MS } from "../../core/time.js";
import {
  afterRefusedTest,
  afterWait,
  type MinuteTurn,
  type Refusals,
  testAt,
} from "../../plan/quota/minute-turn.js";
import {
  afterAcceptance,
  afterRefusal,
  initialRate,
  isLearned,
  type Rate,
  tryAt,
  tryHigher,
} from "../../plan/quota/rate.js";
import {
  countedAt,
  freeAt,
  MAX_ARRIVAL_MS,
  recentSends,
  type Send,
  usedInMinute,
} from "../../plan/quota/send-log.js";

/** Part of a wait that is added to it, as the clocks of two machines differ: 25 ms in a minute. */
const CLOCK_DRIFT = 25 / MINUTE_MS;

/** The state of a group's quota. */
export interface QuotaState {
  /** Requests a minute that this client may send; undefined where unknown. */
  readonly limit: number | undefined;
  /** Whether the limit was learned from refusals. */
  readonly learned: boolean;
  /** Requests sent in the last minute. */
  readonly usedLastMinute: number;
  /** When the next request may be sent, as epoch milliseconds, if one waits or the service asked for a wait. */
  readonly waitingUntil: number | undefined;
  /** How often the service has made this client wait. */
  readonly waits: number;
}

export interface QuotaGateOptions {
  readonly clock: Clock;
  /** Configured requests a minute of the key; never exceeded. @default learned from refusals */
  readonly configured?: number | undefined;
  /** Requests a minute of the key that an earlier run has learned: a first value; higher ones are tried. */
  readonly learned?: number | undefined;
  /** The part of the key's quota that this process may use, above 0, up to 1. @default 1 */
  readonly share?: number | undefined;
  /** When requests were sent before, as epoch milliseconds, ascending. */
  readonly sentBefore?: readonly number[] | undefined;
  /** Called with the key's requests a minute when a whole minute of this process's own requests shows a new number. */
  readonly onLearned?: ((requestsPerMinute: number) => void) | undefined;
}

/**
 * The quota of one scope, a group of endpoints or the whole key: when its next request may be sent, and which limits the
 * responses show. After a wait, one request is sent ahead of the others. It is a class because it has a log of
 * requests.
 */
export class QuotaGate {
  readonly #options: QuotaGateOptions;
  #share: number;
  readonly #startedAt: number;
  #rate: Rate;
  #sends: Send[];
  #pausedUntil = 0;
  /** What was known before a burst of refusals, and the time of its first. */
  #refusal: { readonly before: Rate; readonly at: number } | undefined;
  /** The request that is sent ahead after a wait. */
  #scout: Send | "needed" | undefined;
  /** The last request before the last step of a trial. */
  #lastStep: Send | undefined;
  /** Refusals in a row that gave no wait, and when the last refused request was sent. */
  #silent: (Refusals & { readonly sentAt: number }) | undefined;
  #turn: MinuteTurn | undefined;
  #waits = 0;

  constructor(options: QuotaGateOptions) {
    const now = options.clock.now();
    this.#options = options;
    this.#share = options.share ?? 1;
    this.#startedAt = now;
    this.#rate = initialRate(options.configured, options.learned, now);
    this.#sends = (options.sentBefore ?? []).map((sentAt) => ({ sentAt }));
  }

  get state(): Omit<QuotaState, "waitingUntil"> {
    return {
      limit: this.#limit,
      learned: isLearned(this.#rate),
      usedLastMinute: usedInMinute(this.#sends, this.#options.clock.now()),
      waits: this.#waits,
    };
  }

  /**
   * Applies another part of the key's quota.
   *
   * @param taken requests of others, as epoch milliseconds, that count for what was added. @param died parts of the key
   *   whose users may have used them up by a time.
   */
  setShare(share: number, taken: readonly number[], died: readonly { share: number; at: number }[]): void {
    this.#share = share;
    const keyLimit = this.#rate.limit ?? 0;
    const used = died.flatMap((one) => Array.from({ length: Math.ceil(one.share * keyLimit) }, () => one.at));
    if (taken.length > 0 || used.length > 0) {
      // When they reached the service is not known.
      const added = [...taken, ...used].map(
        (sentAt): Send => ({ sentAt, respondedAt: sentAt + MAX_ARRIVAL_MS }),
      );
      this.#sends = [...this.#sends, ...added].sort((a, b) => a.sentAt - b.sentAt);
    }
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
    const counted = recentSends(this.#sends, limit, this.#options.clock.now()).filter(
      ({ isRefused }) => isRefused !== true,
    );
    const excess = counted.slice(0, Math.max(0, counted.length - Math.max(1, Math.floor(limit))));
    const gone = new Set(excess);
    this.#sends = this.#sends.filter((send) => !gone.has(send));
    return excess.map(({ sentAt }) => sentAt);
  }

  /** Until when the service asked to wait, as epoch milliseconds. */
  get pausedUntil(): number {
    return this.#pausedUntil;
  }

  /** When requests of the last minute were sent that were accepted or may be, as epoch milliseconds, ascending. */
  get sentLately(): number[] {
    return recentSends(this.#sends, this.#limit, this.#options.clock.now())
      .filter(({ isRefused }) => isRefused !== true)
      .map(({ sentAt }) => sentAt);
  }

  /**
   * When the next request may be sent, as epoch milliseconds; undefined until the request sent ahead has its response.
   * Where the limit is used up and a trial is due, a higher limit is tried.
   */
  nextAt(now: number): number | undefined {
    if (typeof this.#scout === "object") return undefined;
    const [first, last] = [this.#sends[0], this.#sends.at(-1)];
    // The log is shortened by a minute at a time, which costs little where there is no limit.
    if ((first && first.sentAt < now - 2 * MINUTE_MS) || (last && last.sentAt > now))
      this.#sends = recentSends(this.#sends, this.#limit, now);
    let at = this.#freeAt();
    if (at > now && this.#pausedUntil <= now && this.#tryHigher(now)) at = this.#freeAt();
    // A trial of a higher limit may be due before the limit permits a request.
    if (at > now && this.#rate.proven === undefined) at = Math.min(at, Math.max(now + 1, tryAt(this.#rate)));
    return Math.ceil(Math.max(this.#pausedUntil, at));
  }

  /** Records that a request is sent now. */
  send(now: number): Send {
    const send: Send = { sentAt: now };
    this.#sends.push(send);
    if (this.#scout === "needed") this.#scout = send;
    return send;
  }

  /** Records that the service accepted a request, or that its outcome is unknown. */
  passed(send: Send): void {
    const now = this.#options.clock.now();
    send.respondedAt = now;
    if (this.#scout === send) this.#scout = undefined;
    if (send.sentAt <= (this.#refusal?.at ?? -1)) return;
    if (this.#silent !== undefined)
      this.#turn = afterWait(this.#turn, this.#silent.sentAt, { sentAt: send.sentAt, respondedAt: now });
    this.#silent = undefined;
    const rate = this.#rate;
    if (rate.suspicion === undefined && rate.proven === undefined && rate.pressure === 0) return;
    const since = rate.suspicion?.resumesAt ?? 0;
    const sent = this.#sends.filter(({ sentAt, isRefused }) => sentAt >= since && isRefused !== true).length;
    this.#learn(afterAcceptance(rate, { now, sinceWait: Math.floor(sent / this.#share) }));
  }

  /**
   * Records that the service refused a request for the quota. @param retryAfterMs the wait that it gave, in
   * milliseconds.
   */
  refused(send: Send, retryAfterMs: number | undefined): void {
    const now = this.#options.clock.now();
    send.respondedAt = now;
    send.isRefused = true;
    if (this.#refusal === undefined || send.sentAt > this.#refusal.at) {
      this.#refusal = { before: this.#rate, at: now };
      this.#waits += 1;
      if (retryAfterMs === undefined) {
        const turnsOverAt = freeAt(this.#sends, countedAt(this.#sends, send));
        if (this.#silent) this.#turn = afterRefusedTest(this.#turn, this.#silent.since, send.sentAt);
        const first = this.#silent ?? { count: 0, since: now, turnsOverAt };
        this.#silent = { ...first, count: first.count + 1, sentAt: send.sentAt };
      }
    }
    const pauseMs = retryAfterMs ?? (this.#silent ? testAt(this.#turn, this.#silent, now) - now : 0);
    this.#pausedUntil = Math.max(this.#pausedUntil, now + pauseMs + Math.floor(pauseMs * CLOCK_DRIFT));
    this.#scout = "needed";
    this.#learn(this.#afterRefusal(this.#refusal, send, retryAfterMs));
  }

  /** Waits until a time, in epoch milliseconds, that another scope was given; then one request is sent ahead. */
  pause(until: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, until);
    this.#scout = "needed";
  }

  /** Drops the limit and the wait that refusals have caused: they were refusals of another scope. */
  forget(): void {
    const { configured, learned, clock } = this.#options;
    this.#pausedUntil = 0;
    this.#scout = undefined;
    this.#rate = initialRate(configured, learned, clock.now());
  }

  /** Records that a request was refused for another scope's quota: it does not count here. */
  uncount(send: Send): void {
    send.respondedAt = this.#options.clock.now();
    send.isRefused = true;
    if (this.#scout === send) this.#scout = undefined;
  }

  /** Takes back a request that was not sent. Where it was to be sent ahead of the others, the next one is. */
  unsent(send: Send): void {
    this.#sends = this.#sends.filter((other) => other !== send);
    if (this.#scout === send) this.#scout = "needed";
  }

  /** Records that a request is sent now, and not when it was permitted. */
  sentNow(send: Send): void {
    const sentAt = this.#options.clock.now();
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

  #afterRefusal(
    { before, at }: { readonly before: Rate; readonly at: number },
    send: Send,
    retryAfterMs: number | undefined,
  ): Rate {
    const accepted = countedAt(this.#sends, send);
    return afterRefusal(before, {
      now: at,
      accepted: Math.ceil(accepted / this.#share),
      retryAfterMs,
      resumesAt: this.#pausedUntil,
      turnsOverMs: accepted === 0 ? 0 : freeAt(this.#sends, accepted) - at,
      isWholeMinute: at - this.#startedAt >= MINUTE_MS,
    });
  }

  #learn(rate: Rate): void {
    const before = this.#rate.confirmed;
    this.#rate = rate;
    const { confirmed } = rate;
    if (confirmed !== undefined && confirmed !== before && isLearned(rate))
      this.#options.onLearned?.(confirmed);
  }

  get #limit(): number | undefined {
    return this.#rate.limit === undefined ? undefined : this.#rate.limit * this.#share;
  }
}

import { type Clock, MINUTE_MS } from "../core/time.js";
import {
  afterAcceptance,
  afterRefusal,
  initialRate,
  isLearned,
  provenLimit,
  type Rate,
} from "../plan/rate.js";
import { recentSends, roomAt, type Send, usedInMinute } from "../plan/send-log.js";

/** Added to a wait that the service told, so that a clock that is a little ahead is not refused again. */
const WAIT_MARGIN_MS = 25;
/** Pauses after refusals that tell no wait: the first; each further one is twice as long, up to the longest. */
const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = MINUTE_MS;

/** How a group of endpoints stands with its quota. */
export interface QuotaState {
  /** Requests a minute that this client may send; undefined: not known. */
  readonly limit: number | undefined;
  /** Whether the limit was learned from refusals. */
  readonly learned: boolean;
  /** Requests sent in the last minute. */
  readonly usedLastMinute: number;
  /** When the next request may go, as epoch milliseconds, where one waits or the service said to. */
  readonly waitingUntil: number | undefined;
  /** How often the service has made this client wait. */
  readonly waits: number;
}

export interface GroupQuotaOptions {
  readonly clock: Clock;
  /** Requests a minute of the key; never exceeded. @default learned from refusals */
  readonly configured?: number | undefined;
  /** Requests a minute of the key, as another run has learned. */
  readonly learned?: number | undefined;
  /** The part of the key's quota that is ours, above 0, up to 1. @default 1 */
  readonly share?: number | undefined;
  /** When requests were sent before, as epoch milliseconds, ascending. */
  readonly sentBefore?: readonly number[] | undefined;
  /** Told of the key's requests a minute whenever a refusal, or a trial of more, has shown another number. */
  readonly onLearned?: ((requestsPerMinute: number) => void) | undefined;
}

/** Leave to send one request; whoever gets it says how it ended. The first word counts. */
export interface Pass {
  /** The service has let the request through, or nobody knows. */
  passed(): void;
  /** The service refused it for the quota. @param toldMs the wait that it told, in milliseconds. */
  refused(toldMs: number | undefined): void;
}

interface Waiting {
  readonly turn: number;
  readonly admit: (pass: Pass) => void;
}

/**
 * Lets the requests of one group of endpoints through: as many as the quota permits in any minute, in the order of
 * their turns, and none while the service has told us to wait. After such a wait one goes ahead of the others, to see.
 */
export class GroupQuota {
  readonly #options: GroupQuotaOptions;
  readonly #share: number;
  readonly #startedAt: number;
  #rate: Rate;
  #sends: Send[];
  #queue: Waiting[] = [];
  #alarm: { readonly at: number; readonly controller: AbortController } | undefined;
  #pausedUntil = 0;
  /** What was known before the refusals that came together, and when the first of them came. */
  #refusal: { readonly before: Rate; readonly at: number } | undefined;
  /** The one that goes ahead after a wait. */
  #scout: Send | "wanted" | undefined;
  #pausesWithoutHint = 0;
  #isUsed = false;
  #waits = 0;

  constructor(options: GroupQuotaOptions) {
    const now = options.clock.now();
    this.#options = options;
    this.#share = options.share ?? 1;
    this.#startedAt = now;
    this.#rate = initialRate(options.configured, options.learned, now);
    this.#sends = (options.sentBefore ?? []).map((sentAt) => ({ sentAt }));
  }

  get state(): QuotaState {
    const now = this.#options.clock.now();
    const next = Math.max(this.#pausedUntil, this.#alarm?.at ?? 0);
    return {
      limit: this.#limit,
      learned: isLearned(this.#rate),
      usedLastMinute: usedInMinute(this.#sends, now),
      waitingUntil: next > now ? next : undefined,
      waits: this.#waits,
    };
  }

  /** When requests of the last minute were sent, as epoch milliseconds, ascending. */
  get sentLately(): number[] {
    return recentSends(this.#sends, this.#limit, this.#options.clock.now())
      .filter(({ isRefused }) => isRefused !== true)
      .map(({ sentAt }) => sentAt);
  }

  /**
   * Resolves when a request may be sent: it must be sent then.
   *
   * @param turn lower ones go first, equal ones in the order in which they came.
   * @throws the signal's reason once it aborts.
   */
  enter(turn: number, signal?: AbortSignal): Promise<Pass> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason as Error);
      const leave = (): void => {
        this.#queue.splice(this.#queue.indexOf(waiting), 1);
        if (this.#queue.length === 0) this.#clearAlarm();
        reject(signal?.reason as Error);
      };
      const admit = (pass: Pass): void => {
        signal?.removeEventListener("abort", leave);
        resolve(pass);
      };
      const waiting = { turn, admit };
      const after = this.#queue.findIndex((other) => other.turn > turn);
      this.#queue.splice(after < 0 ? this.#queue.length : after, 0, waiting);
      signal?.addEventListener("abort", leave, { once: true });
      if (this.#alarm === undefined) this.#admit();
    });
  }

  /** Lets through whoever may go, and sleeps until the next one may. */
  #admit(): void {
    this.#clearAlarm();
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      if (typeof this.#scout === "object") return;
      const now = this.#options.clock.now();
      const at = this.#nextAt(now);
      if (at > now) {
        void this.#sleepUntil(at, now);
        return;
      }
      this.#queue.shift();
      const send: Send = { sentAt: now };
      this.#sends.push(send);
      if (this.#scout === "wanted") this.#scout = send;
      next.admit({
        passed: () => this.#passed(send),
        refused: (toldMs) => this.#refused(send, toldMs),
      });
    }
  }

  #nextAt(now: number): number {
    const limit = this.#limit;
    const [first, last] = [this.#sends[0], this.#sends.at(-1)];
    // Forgotten a minute's worth at a time, so that it costs little where there is no limit.
    if ((first && first.sentAt < now - 2 * MINUTE_MS) || (last && last.sentAt > now))
      this.#sends = recentSends(this.#sends, limit, now);
    if (limit === undefined) return this.#pausedUntil;
    const spaced = this.#rate.isSpaced ? (this.#sends.at(-1)?.sentAt ?? 0) + MINUTE_MS / limit : 0;
    const roomy = Math.max(roomAt(this.#sends, limit), spaced);
    if (roomy > now) this.#isUsed = true;
    return Math.ceil(Math.max(this.#pausedUntil, roomy));
  }

  async #sleepUntil(at: number, now: number): Promise<void> {
    const controller = new AbortController();
    this.#alarm = { at, controller };
    // A sleep that is broken off has no more to say.
    await this.#options.clock.sleep(at - now, controller.signal).catch(() => controller.abort());
    if (!controller.signal.aborted) this.#admit();
  }

  #clearAlarm(): void {
    this.#alarm?.controller.abort();
    this.#alarm = undefined;
  }

  #passed(send: Send): void {
    if (send.answeredAt !== undefined) return;
    const now = this.#options.clock.now();
    send.answeredAt = now;
    if (send.sentAt > (this.#refusal?.at ?? -1)) {
      this.#pausesWithoutHint = 0;
      this.#learn(afterAcceptance(this.#rate, now, this.#isUsed));
    }
    if (this.#scout === send) {
      this.#scout = undefined;
      this.#admit();
    }
  }

  #refused(send: Send, toldMs: number | undefined): void {
    if (send.answeredAt !== undefined) return;
    const now = this.#options.clock.now();
    send.answeredAt = now;
    send.isRefused = true;
    if (this.#refusal === undefined || send.sentAt > this.#refusal.at) {
      this.#refusal = { before: this.#rate, at: now };
      this.#waits += 1;
      if (toldMs === undefined) this.#pausesWithoutHint += 1;
    }
    const pauseMs = toldMs ?? Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (this.#pausesWithoutHint - 1));
    this.#pausedUntil = Math.max(this.#pausedUntil, now + pauseMs + WAIT_MARGIN_MS);
    this.#learn(this.#afterRefusal(this.#refusal, toldMs));
    this.#scout = "wanted";
    this.#admit();
  }

  #afterRefusal({ before, at }: { readonly before: Rate; readonly at: number }, toldMs?: number): Rate {
    const accepted = usedInMinute(this.#sends, at);
    return afterRefusal(before, {
      now: at,
      accepted: Math.ceil(accepted / this.#share),
      toldMs,
      turnsOverMs: accepted === 0 ? 0 : roomAt(this.#sends, accepted) - at,
      isWholeMinute: at - this.#startedAt >= MINUTE_MS,
    });
  }

  #learn(rate: Rate): void {
    const [before, after] = [provenLimit(this.#rate), provenLimit(rate)];
    if (rate !== this.#rate) this.#isUsed = false;
    this.#rate = rate;
    if (after !== undefined && after !== before) this.#options.onLearned?.(after);
  }

  get #limit(): number | undefined {
    return this.#rate.limit === undefined ? undefined : this.#rate.limit * this.#share;
  }
}

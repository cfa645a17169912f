import { MINUTE_MS } from "../../core/time.js";

export interface Send {
  /** When it was sent, in epoch milliseconds. Adjusted if the request is sent later than it was permitted. */
  sentAt: number;
  /** When its response began, or its failure was known, as epoch milliseconds; undefined while it is in flight. */
  respondedAt?: number;
  /** Whether the service refused it because of the quota. Refused requests do not count. */
  isRefused?: boolean;
}

/**
 * Longest assumed time of a request's way to the service, in milliseconds. Usually a shorter bound is known, because a
 * response cannot begin before its request has arrived.
 */
export const MAX_ARRIVAL_MS = 1000;
/** The clocks of two machines differ by less than this within a minute, in milliseconds. */
export const CLOCK_MARGIN_MS = 25;

/**
 * When one more request may be sent (epoch milliseconds; `-Infinity` where it may be sent at once), so that the service
 * sees no more requests than the limit in any minute, wherever the minute begins. This is safe for services that count
 * in fixed minutes, in sliding minutes, or with a token bucket for one minute.
 *
 * @param sends ascending by `sentAt`.
 * @param limit requests per minute; below 1 it means one request in `1 / limit` minutes.
 */
export function freeAt(sends: readonly Send[], limit: number): number {
  const leaving = nthNewestArrival(sends, Math.max(1, Math.floor(limit)));
  return leaving === undefined ? Number.NEGATIVE_INFINITY : leaving + spanOf(limit);
}

/**
 * The nth newest of the latest possible arrivals; undefined where there are fewer. Arrivals are sorted only near the
 * nth newest send: all newer sends arrive after that one was sent, and at least one of the n newest arrives within
 * {@link MAX_ARRIVAL_MS} of it.
 */
function nthNewestArrival(sends: readonly Send[], nth: number): number | undefined {
  if (sends.length < nth) return undefined;
  let first = sends.length;
  for (let counted = 0; counted < nth; ) {
    const send = sends[--first];
    if (send === undefined) return undefined;
    if (send.isRefused !== true) counted++;
  }
  const sentAt = (sends[first] as Send).sentAt;
  while (first > 0 && (sends[first - 1] as Send).sentAt >= sentAt - MAX_ARRIVAL_MS) first--;
  const near: number[] = [];
  let later = 0;
  for (let i = first; i < sends.length; i++) {
    const send = sends[i] as Send;
    if (send.isRefused === true) continue;
    if (send.sentAt > sentAt + MAX_ARRIVAL_MS) later++;
    else near.push(latestArrival(send));
  }
  return near.sort((a, b) => b - a)[nth - later - 1];
}

/** Number of requests in the minute up to `now`, including those in flight, without refused ones. */
export function usedInMinute(sends: readonly Send[], now: number): number {
  return sends.filter(
    ({ sentAt, isRefused }) => isRefused !== true && sentAt > now - MINUTE_MS && sentAt <= now,
  ).length;
}

/**
 * Number of requests in a log that may have counted when one of them reached the service: those that were sent before
 * it within a minute. Refused requests do not count.
 */
export function countedAt(sends: readonly Send[], send: Send): number {
  const since = send.sentAt - MINUTE_MS;
  let counted = 0;
  for (const other of sends) {
    if (other === send) break;
    if (other.isRefused !== true && latestArrival(other) > since) counted++;
  }
  return counted;
}

/**
 * The part of a log that still counts. A send in the future means that the clock was set back. It is dropped, because
 * otherwise all requests would wait until the clock reaches it.
 */
export function recentSends(sends: readonly Send[], limit: number | undefined, now: number): Send[] {
  const since = now - spanOf(limit ?? 1) - MAX_ARRIVAL_MS;
  return sends.filter(({ sentAt }) => sentAt > since && sentAt <= now);
}

function latestArrival({ sentAt, respondedAt = Number.POSITIVE_INFINITY }: Send): number {
  return Math.min(respondedAt, sentAt + MAX_ARRIVAL_MS);
}

/** Milliseconds in which the limit's requests (rounded down, at least one) may be sent. */
function spanOf(limit: number): number {
  return MINUTE_MS / Math.min(1, limit) + CLOCK_MARGIN_MS;
}

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

/** The known facts about the requests per minute that a service permits for a key. */
export interface Rate {
  /** The limit that is followed, in requests per minute; undefined where it is not known, and no limit is followed. */
  readonly limit: number | undefined;
  /** The configured limit. It is never exceeded, but a service can show that it permits less. */
  readonly configured: number | undefined;
  /** Whether requests are spread evenly over the minute, because the service refuses bursts. */
  readonly isSpaced: boolean;
  /** The limit before the trial of a higher one; undefined while no trial runs. */
  readonly proven: number | undefined;
  /** What the next step of a trial adds to the limit. */
  readonly step: number;
  /** Pause after a trial without a gain, in milliseconds. It doubles after each such trial. */
  readonly trialPauseMs: number;
  /** When the next trial may begin, or when the last step of the running trial was made, in epoch milliseconds. */
  readonly trialAt: number;
  /** The limit before a trial with a small gain. A burst at the turn of a minute can look like such a gain. */
  readonly fallback: number | undefined;
  /** The last limit that was shown by a whole minute of this process's requests. Later runs start with it. */
  readonly confirmed: number | undefined;
  /** A refusal with a long wait that is not explained by this process's requests; undefined where there is none. */
  readonly unexplained: Unexplained | undefined;
  /** Number of refusals with a short wait, minus a weighted number of the requests that were accepted since. */
  readonly shortWaits: number;
}

/** What is kept of a refusal that another user of the key may have caused. */
type Unexplained = Pick<Refusal, "accepted" | "resumesAt">;

export interface Refusal {
  readonly now: number;
  /** Number of this process's requests that counted when the refused request was sent. */
  readonly accepted: number;
  /** The wait that the service stated, in milliseconds; undefined where it stated none. */
  readonly retryAfterMs: number | undefined;
  /** When the wait ends, as epoch milliseconds. */
  readonly resumesAt: number;
  /** When the oldest of the `accepted` requests stops counting, in milliseconds from now. */
  readonly turnsOverMs: number;
  /** Whether the log covers a whole minute. */
  readonly isWholeMinute: boolean;
}

const FIRST_TRIAL_PAUSE_MS = 1000;
/** Longest time without a test of a limit, in milliseconds: another user of the key may have stopped. */
const MAX_TRIAL_PAUSE_MS = 90_000;
/** A trial has succeeded if its last step was not refused for a minute plus the time of a slow response; milliseconds. */
const TRIAL_MS = 1.25 * MINUTE_MS;
/** Fraction by which a limit is lowered that was refused although it was followed. */
const LOSS = 0.05;
/** A trial that gains more than this fraction is repeated at once. */
const GAIN = 0.25;
/** A wait shorter than this, in milliseconds, costs so little that a single refusal changes nothing. */
const SHORT_WAIT_MS = 1000;
/** Number of refusals with a short wait that changes the rate, and how much each accepted request lowers the counter. */
const MOST_SHORT_WAITS = 3;
const RELIEF = 0.02;
/** A second refusal is attributed to the limit only within this time after the wait of the first one, in milliseconds. */
const UNEXPLAINED_MS = 3 * MINUTE_MS;

/**
 * @param learned the limit that an earlier run has learned. It is tested as soon as it is used up.
 * @param now epoch milliseconds.
 */
export function initialRate(configured: number | undefined, learned: number | undefined, now: number): Rate {
  return {
    limit: configured === undefined ? learned : Math.min(configured, learned ?? configured),
    configured,
    isSpaced: false,
    proven: undefined,
    step: 1,
    trialPauseMs: FIRST_TRIAL_PAUSE_MS,
    trialAt: now,
    fallback: undefined,
    confirmed: undefined,
    unexplained: undefined,
    shortWaits: 0,
  };
}

/** Whether the limit was learned from the service, and not configured by the user. */
export function isLearned({ limit, configured }: Rate): boolean {
  return limit !== undefined && limit !== configured;
}

/**
 * Learns from a refusal. The end of a trial shows the limit. Any other refusal may be caused by another user of the
 * key, or be a mistake of the service, so a single one changes nothing. If the next refusal comes before the process
 * has sent as many requests as it had at the first one, bursts are avoided, or the limit is lowered.
 */
export function afterRefusal(rate: Rate, refusal: Refusal): Rate {
  const { proven, limit, step } = rate;
  const { accepted, resumesAt, isWholeMinute } = refusal;
  if (proven !== undefined && limit !== undefined) {
    if (accepted >= proven) {
      const reached = Math.max(proven, Math.min(accepted, limit - Math.min(step, 1)));
      const hasGrown = reached > proven * (1 + GAIN);
      const trialPauseMs = hasGrown
        ? FIRST_TRIAL_PAUSE_MS
        : Math.min(MAX_TRIAL_PAUSE_MS, 2 * rate.trialPauseMs);
      return {
        ...withoutTrial(rate, reached),
        trialPauseMs,
        trialAt: resumesAt + trialPauseMs,
        fallback: reached > proven && !hasGrown ? proven : undefined,
        confirmed: isWholeMinute ? reached : rate.confirmed,
        unexplained: undefined,
      };
    }
    return afterUnexplained({ ...withoutTrial(rate, proven), trialAt: resumesAt }, refusal);
  }
  return afterUnexplained(rate, refusal);
}

/** When a higher limit may be tried, or the running trial continued, in epoch milliseconds; `Infinity` means never. */
export function tryAt({ limit, configured, trialAt, proven }: Rate): number {
  if (limit === undefined || limit >= (configured ?? Number.POSITIVE_INFINITY))
    return Number.POSITIVE_INFINITY;
  return proven === undefined ? trialAt : Number.NEGATIVE_INFINITY;
}

/**
 * The rate after the next step of a trial. Each step adds twice as much as the previous one, up to twice the used
 * requests.
 *
 * @param used requests of the key that this process sent in the last minute.
 */
export function tryHigher(rate: Rate, used: number, now: number): Rate {
  const { limit = 1, configured = Number.POSITIVE_INFINITY, proven = limit, step } = rate;
  const most = Math.min(configured, Math.max(limit + 1, Math.ceil(2 * used)));
  return { ...rate, limit: Math.min(most, limit + step), proven, step: 2 * step, trialAt: now };
}

/**
 * Learns from an accepted request: an unexplained refusal is forgotten, and a trial that has lasted long enough has succeeded.
 *
 * @param sinceWait number of this process's requests that were sent between the end of the last wait and this request.
 */
export function afterAcceptance(rate: Rate, now: number, sinceWait: number): Rate {
  let next = rate;
  if (rate.shortWaits > 0) next = { ...next, shortWaits: Math.max(0, rate.shortWaits - RELIEF) };
  if (rate.unexplained !== undefined && sinceWait > rate.unexplained.accepted)
    next = { ...next, unexplained: undefined };
  if (rate.proven !== undefined && now - rate.trialAt >= TRIAL_MS)
    next = { ...withoutTrial(next, rate.limit), trialPauseMs: FIRST_TRIAL_PAUSE_MS, trialAt: now };
  return next;
}

function withoutTrial(rate: Rate, limit: number | undefined): Rate {
  return { ...rate, limit, proven: undefined, step: 1 };
}

function afterUnexplained(rate: Rate, refusal: Refusal): Rate {
  const { now, accepted, retryAfterMs, resumesAt } = refusal;
  if (rate.fallback !== undefined && accepted >= rate.fallback)
    return { ...rate, limit: rate.fallback, fallback: undefined, trialAt: resumesAt + rate.trialPauseMs };
  if (retryAfterMs !== undefined && retryAfterMs < SHORT_WAIT_MS) {
    const shortWaits = rate.shortWaits + 1;
    return shortWaits < MOST_SHORT_WAITS
      ? { ...rate, shortWaits }
      : strictly({ ...rate, shortWaits: 0 }, refusal);
  }
  const before = rate.unexplained;
  if (before === undefined || now - before.resumesAt > UNEXPLAINED_MS)
    return { ...rate, unexplained: { accepted, resumesAt } };
  const shown = { ...refusal, accepted: Math.min(accepted, before.accepted) };
  return strictly({ ...rate, unexplained: undefined }, shown);
}

/**
 * Applies a stricter rule: bursts are avoided first if they can be the cause, otherwise the limit is lowered to the
 * number of accepted requests.
 */
function strictly(rate: Rate, refusal: Refusal): Rate {
  const { accepted, resumesAt } = refusal;
  const { limit = Number.POSITIVE_INFINITY } = rate;
  const isBurst = !rate.isSpaced && refusesBursts(refusal);
  const shown = Math.max(1, accepted);
  const next = isBurst ? (rate.limit ?? shown) : Math.min(lower(limit), shown);
  const trialPauseMs = next < limit * (1 - GAIN) ? FIRST_TRIAL_PAUSE_MS : rate.trialPauseMs;
  return {
    ...rate,
    isSpaced: rate.isSpaced || isBurst,
    limit: next,
    trialPauseMs,
    trialAt: resumesAt + trialPauseMs,
  };
}

/**
 * Whether a service refuses bursts, and not a full minute: its wait is much shorter than the time until the requests of
 * the last minute stop counting.
 */
function refusesBursts({ accepted, retryAfterMs, turnsOverMs }: Refusal): boolean {
  return accepted > 0 && (retryAfterMs === undefined || 4 * retryAfterMs < turnsOverMs);
}

function lower(limit: number): number {
  return limit <= 1 ? limit : Math.max(1, Math.min(limit - 1, Math.floor(limit * (1 - LOSS))));
}

/** Consecutive refusals that did not state how long to wait. */
export interface Refusals {
  /** Number of refusals. Requests that were sent together count as one. */
  readonly count: number;
  /** When the first was received, as epoch milliseconds. */
  readonly since: number;
  /** When the oldest request that the service may have counted stops counting, as epoch milliseconds. */
  readonly turnsOverAt: number;
}

/**
 * Pauses after the first of several refusals double from the shortest, up to the longest that is still precise;
 * milliseconds.
 */
const FIRST_PAUSE_MS = 1000;
const PRECISE_PAUSE_MS = 8000;
/**
 * Longest pause in milliseconds, if the refusals lasted longer than a minute: then something else than a minute's quota
 * causes them.
 */
const MAX_PAUSE_MS = MINUTE_MS / 2;

/** When a request tests whether the refusals have ended, in epoch milliseconds. */
export function testAt({ count, since, turnsOverAt }: Refusals, now: number): number {
  const isBeyondMinute = now - since > MINUTE_MS;
  const most = isBeyondMinute ? MAX_PAUSE_MS : PRECISE_PAUSE_MS;
  const at = now + Math.min(most, FIRST_PAUSE_MS * 2 ** (count - 1));
  return count < 2 || isBeyondMinute || turnsOverAt <= now ? at : Math.min(at, turnsOverAt);
}

/** New evidence in a response about the scope of the limit; undefined where there is none. */
type ScopeEvidence = "key" | "group" | undefined;

/** Time in milliseconds between two requests that test whether the limit still applies to the whole key. */
const PROBE_EVERY_MS = 3 * MINUTE_MS;

/**
 * Finds out whether a service limits each group of endpoints or the whole key. While one group must wait, the first
 * response to another group decides: a limit of the key would refuse it, a limit of the group would not.
 */
export class KeyScope {
  /** Whether the limit applies to the whole key. */
  isKey = false;
  /** The wait of a refused group; undefined once a response to another group has decided. */
  #open: { readonly group: string; readonly from: number; readonly until: number } | undefined;
  #probeAt = 0;

  /**
   * Records that a request of a group was refused.
   *
   * @param until when its wait ends. All times are epoch milliseconds.
   */
  refused(group: string, sentAt: number, now: number, until: number): ScopeEvidence {
    if (!this.#isDecidedBy(group, sentAt, now)) {
      if (this.#open === undefined || this.#open.group === group || now >= this.#open.until)
        this.#open = { group, from: now, until };
      return undefined;
    }
    this.#open = undefined;
    if (this.isKey) return undefined;
    this.isKey = true;
    this.#probeAt = now + PROBE_EVERY_MS;
    return "key";
  }

  passed(group: string, sentAt: number, now: number): ScopeEvidence {
    if (!this.#isDecidedBy(group, sentAt, now)) return undefined;
    this.#open = undefined;
    if (!this.isKey) return undefined;
    this.isKey = false;
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

/** Times without those of another list. A time that is in a list several times counts as often. */
export function withoutEach(times: readonly number[], others: readonly number[]): number[] {
  const left = new Map<number, number>();
  for (const at of others) left.set(at, (left.get(at) ?? 0) + 1);
  return times.filter((at) => {
    const count = left.get(at) ?? 0;
    left.set(at, count - 1);
    return count <= 0;
  });
}

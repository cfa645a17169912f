import { MINUTE_MS } from "../../core/time.js";

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
  readonly patienceMs: number;
  /** When the next trial may begin, or when the last step of the running trial was made, in epoch milliseconds. */
  readonly trialAt: number;
  /** The limit before a trial with a small gain. A burst at the turn of a minute can look like such a gain. */
  readonly fallback: number | undefined;
  /** The last limit that was shown by a whole minute of this process's requests. Later runs start with it. */
  readonly confirmed: number | undefined;
  /** A refusal with a long wait that is not explained by this process's requests; undefined where there is none. */
  readonly suspicion: Suspicion | undefined;
  /** Number of refusals with a short wait, minus a weighted number of the requests that were accepted since. */
  readonly pressure: number;
}

/** A first refusal that may have been caused by another user of the key. */
interface Suspicion {
  /** Number of this process's requests that counted at the time. */
  readonly accepted: number;
  /** When the wait that the service stated ends, in epoch milliseconds. */
  readonly resumesAt: number;
}

/** A refusal, with facts from the log of requests. */
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

/** A request that the service accepted. */
interface Acceptance {
  readonly now: number;
  /** Number of this process's requests that were sent between the end of the last wait and this request. */
  readonly sinceWait: number;
}

const FIRST_PATIENCE_MS = 1000;
/** Longest time without a test of a limit, in milliseconds: another user of the key may have stopped. */
const MAX_PATIENCE_MS = 90_000;
/**
 * A trial has succeeded if its last step was not refused for a minute plus the time of a slow response; milliseconds.
 */
const TRIAL_MS = 1.25 * MINUTE_MS;
/** Fraction by which a limit is lowered that was refused although it was followed. */
const LOSS = 0.05;
/** A trial that gains more than this fraction is repeated at once. */
const GAIN = 0.25;
/** A wait shorter than this, in milliseconds, costs so little that a single refusal changes nothing. */
const SHORT_WAIT_MS = 1000;
/**
 * Number of refusals with a short wait that changes the rate, and how much each accepted request lowers the counter.
 */
const MAX_PRESSURE = 3;
const RELIEF = 0.02;
/**
 * A second refusal is attributed to the limit only within this time after the wait of the first one, in milliseconds.
 */
const SUSPICION_MS = 3 * MINUTE_MS;

/**
 * The initial state.
 *
 * @param configured the limit that the user configured.
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
    patienceMs: FIRST_PATIENCE_MS,
    trialAt: now,
    fallback: undefined,
    confirmed: undefined,
    suspicion: undefined,
    pressure: 0,
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
      const patienceMs = hasGrown ? FIRST_PATIENCE_MS : Math.min(MAX_PATIENCE_MS, 2 * rate.patienceMs);
      return {
        ...withoutTrial(rate, reached),
        patienceMs,
        trialAt: resumesAt + patienceMs,
        fallback: reached > proven && !hasGrown ? proven : undefined,
        confirmed: isWholeMinute ? reached : rate.confirmed,
        suspicion: undefined,
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

/** Learns from an accepted request: a suspicion is dropped, and a trial that has lasted long enough has succeeded. */
export function afterAcceptance(rate: Rate, { now, sinceWait }: Acceptance): Rate {
  let next = rate;
  if (rate.pressure > 0) next = { ...next, pressure: Math.max(0, rate.pressure - RELIEF) };
  if (rate.suspicion !== undefined && sinceWait > rate.suspicion.accepted)
    next = { ...next, suspicion: undefined };
  if (rate.proven !== undefined && now - rate.trialAt >= TRIAL_MS)
    next = { ...withoutTrial(next, rate.limit), patienceMs: FIRST_PATIENCE_MS, trialAt: now };
  return next;
}

function withoutTrial(rate: Rate, limit: number | undefined): Rate {
  return { ...rate, limit, proven: undefined, step: 1 };
}

function afterUnexplained(rate: Rate, refusal: Refusal): Rate {
  const { now, accepted, retryAfterMs, resumesAt } = refusal;
  if (rate.fallback !== undefined && accepted >= rate.fallback)
    return { ...rate, limit: rate.fallback, fallback: undefined, trialAt: resumesAt + rate.patienceMs };
  if (retryAfterMs !== undefined && retryAfterMs < SHORT_WAIT_MS) {
    const pressure = rate.pressure + 1;
    return pressure < MAX_PRESSURE ? { ...rate, pressure } : strictly({ ...rate, pressure: 0 }, refusal);
  }
  const before = rate.suspicion;
  if (before === undefined || now - before.resumesAt > SUSPICION_MS)
    return { ...rate, suspicion: { accepted, resumesAt } };
  const shown = { ...refusal, accepted: Math.min(accepted, before.accepted) };
  return strictly({ ...rate, suspicion: undefined }, shown);
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
  const patienceMs = next < limit * (1 - GAIN) ? FIRST_PATIENCE_MS : rate.patienceMs;
  return {
    ...rate,
    isSpaced: rate.isSpaced || isBurst,
    limit: next,
    patienceMs,
    trialAt: resumesAt + patienceMs,
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

import { MINUTE_MS } from "../core/time.js";

/** What is known of how many requests a service lets through, for one group of endpoints. */
export interface Rate {
  /** Requests a minute; undefined: not known, and none is kept to. */
  readonly limit: number | undefined;
  /** What the user said it is. It is never exceeded, but a service can show that it is less. */
  readonly configured: number | undefined;
  /** Whether requests are spread evenly over the minute, as the service refuses the minute's worth at once. */
  readonly isSpaced: boolean;
  /** The limit that held before a higher one was tried; undefined while none is tried. */
  readonly proven: number | undefined;
  /** What the next trial adds to the limit. */
  readonly step: number;
  /** How long the limit must hold before a higher one is tried, in milliseconds. */
  readonly patienceMs: number;
  /** When the limit was last set, or the service last refused, as epoch milliseconds. */
  readonly since: number;
}

/** A refusal, as the log of the requests has it. */
export interface Refusal {
  readonly now: number;
  /** Requests that were let through in the minute before. */
  readonly accepted: number;
  /** The wait that the service told, in milliseconds, where it did. */
  readonly toldMs: number | undefined;
  /** When the oldest of that minute's requests no longer counts, in milliseconds from now. */
  readonly turnsOverMs: number;
  /** Whether the log reaches back a whole minute: before it, others may have used the quota. */
  readonly isWholeMinute: boolean;
}

const FIRST_PATIENCE_MS = 2 * MINUTE_MS;
const MAX_PATIENCE_MS = 60 * MINUTE_MS;
/** A trial is over when the limit has held for a minute, and for as long as a request is under way at most. */
const TRIAL_MS = 1.25 * MINUTE_MS;
/** A limit that was refused although it was kept to loses this part. */
const LOSS = 0.05;

/** What is known at first. @param learned what another run has learned. */
export function initialRate(configured: number | undefined, learned: number | undefined, now: number): Rate {
  const limit = configured === undefined ? learned : Math.min(configured, learned ?? configured);
  const trial = { proven: undefined, step: 1, patienceMs: FIRST_PATIENCE_MS, since: now };
  return { limit, configured, isSpaced: false, ...trial };
}

/** Whether the limit is what the service showed, and not what the user said. */
export function isLearned({ limit, configured }: Rate): boolean {
  return limit !== undefined && limit !== configured;
}

/**
 * What a refusal teaches. Without a limit it is what was let through in the last minute. A trial of a higher limit is
 * taken back. A refusal below the limit means a stricter rule, so the requests are spread; where they are already, or
 * where nothing else can be meant, the limit is lower than thought.
 */
export function afterRefusal(rate: Rate, refusal: Refusal): Rate {
  const { limit, configured, proven } = rate;
  const at = { ...rate, since: refusal.now, proven: undefined, step: 1 };
  if (limit === undefined) return { ...at, limit: Math.max(1, refusal.accepted) };
  const isSpaced = rate.isSpaced || refusesBursts(refusal);
  if (proven !== undefined)
    return { ...at, isSpaced, limit: proven, patienceMs: Math.min(MAX_PATIENCE_MS, 2 * rate.patienceMs) };
  if (limit === configured && !rate.isSpaced)
    return { ...at, isSpaced: refusal.isWholeMinute || refusesBursts(refusal) };
  if (isSpaced && !rate.isSpaced) return { ...at, isSpaced };
  // Few requests may have been let through because few were sent: half of the limit is believed at most.
  const shown = refusal.isWholeMinute ? Math.max(refusal.accepted, limit / 2) : limit;
  return { ...at, limit: Math.min(lower(limit), Math.max(1, Math.ceil(shown))) };
}

/**
 * What it teaches that the limit holds: in time a learned one is tried a little higher, then ever higher until the
 * service refuses; after each trial that failed it is left alone for twice as long.
 *
 * @param isUsed whether requests had to wait for the limit since it was set: one that nothing presses on proves nothing.
 */
export function afterAcceptance(rate: Rate, now: number, isUsed: boolean): Rate {
  const { limit, configured, proven, step, patienceMs, since } = rate;
  if (limit === undefined || !isLearned(rate) || !isUsed) return rate;
  if (now - since < (proven === undefined ? patienceMs : TRIAL_MS)) return rate;
  const higher = Math.min(configured ?? Number.POSITIVE_INFINITY, limit + step);
  return { ...rate, limit: higher, proven: limit, step: 2 * step, since: now };
}

/** The limit that is sure, trials left out: what other runs may know. */
export function provenLimit(rate: Rate): number | undefined {
  return isLearned(rate) ? (rate.proven ?? rate.limit) : undefined;
}

/** A service that tells a wait much shorter than its minute needs to turn over refuses bursts, not a full minute. */
function refusesBursts({ accepted, toldMs, turnsOverMs }: Refusal): boolean {
  return accepted > 0 && (toldMs === undefined || 4 * toldMs < turnsOverMs);
}

function lower(limit: number): number {
  return limit <= 1 ? limit : Math.max(1, Math.min(limit - 1, Math.floor(limit * (1 - LOSS))));
}

import { type GroupOptions, KeyQuota } from "../../src/client/key/key-quota.js";
import type { QuotaState } from "../../src/plan/quota/rate.js";
import { eventClock } from "../faults/clock/event-clock.js";

export const MINUTE = 60_000;

/** Counts requests in its own way: gives 0 where one that arrives now may pass, else the milliseconds to wait. */
export type Counter = (now: number) => number;

/** At most `limit` in each minute that begins at `phase`. */
export function fixedWindow(limit: number, phase: number): Counter {
  let [window, used] = [Number.NaN, 0];
  return (now) => {
    const current = Math.floor((now - phase) / MINUTE);
    if (current !== window) [window, used] = [current, 0];
    if (used >= limit) return (current + 1) * MINUTE + phase - now;
    used++;
    return 0;
  };
}

/** At most `limit` in any minute. */
export function slidingWindow(limit: number): Counter {
  const passed: number[] = [];
  return (now) => {
    const oldest = passed.at(-limit);
    if (oldest !== undefined && now < oldest + MINUTE) return oldest + MINUTE - now;
    passed.push(now);
    return 0;
  };
}

/** `limit` tokens a minute flow into a bucket that holds no more than `capacity`. */
export function tokenBucket(limit: number, capacity = limit): Counter {
  let [tokens, at] = [capacity, Number.NaN];
  return (now) => {
    if (!Number.isNaN(at)) tokens = Math.min(capacity, tokens + ((now - at) * limit) / MINUTE);
    at = now;
    if (tokens < 1) return Math.ceil(((1 - tokens) * MINUTE) / limit);
    tokens--;
    return 0;
  };
}

/** A time, as milliseconds from the start of a simulation. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Simulation {
  readonly counter: Counter;
  readonly minutes: number;
  /** Gives numbers from 0 to 1. */
  readonly random: () => number;
  /** The quotas of the processes that share the key; one where none is given. */
  readonly quotas?: readonly (GroupOptions & { readonly share?: number })[];
  /** Requests of a process in flight at once. @default 4 */
  readonly workers?: number;
  /** Whether a refusal gives the wait. @default true */
  readonly hints?: boolean;
  /** When the callers want nothing, as milliseconds from the start. */
  readonly idle?: readonly Span[];
  /** Other programs with the key: they always send so many requests a minute. */
  readonly others?: readonly (Span & { readonly perMinute: number })[];
  /** Mistakes of the service: it refuses such a part of the requests, and asks for such a wait. */
  readonly strays?: readonly (Span & { readonly part: number; readonly waitMs: number })[];
  /** Longest time that a request needs to reach the service, and a service to begin its response, in milliseconds. */
  readonly arrivalMs?: number;
  readonly responseMs?: number;
}

/** What became of the requests, in the order in which they arrived: milliseconds from the start, and whether they passed. */
export interface Outcome {
  readonly passed: readonly number[];
  readonly refused: readonly number[];
  /** The state of each process at the end. */
  readonly states: readonly QuotaState[];
}

/** Callers that always want more, their quotas, and a service that counts: on a virtual clock. */
export async function simulate(simulation: Simulation): Promise<Outcome> {
  const { counter, random, hints = true, arrivalMs = 400, responseMs = 4000, idle = [] } = simulation;
  const start = Date.parse("2026-11-21T00:00:17Z");
  const end = start + simulation.minutes * MINUTE;
  const clock = eventClock(start);
  const quotas = (simulation.quotas ?? [{}]).map(
    (options) => new KeyQuota(clock, () => options, options.share),
  );
  const [passed, refused]: [number[], number[]] = [[], []];
  const { others = [], strays = [] } = simulation;
  const isIn = (span: Span): boolean => clock.now() - start >= span.start && clock.now() - start < span.end;
  const other = async ({ perMinute, ...span }: Span & { readonly perMinute: number }): Promise<void> => {
    await clock.sleep(span.start);
    for (; isIn(span); await clock.sleep(MINUTE / perMinute)) counter(clock.now());
  };
  const waitOf = (): number => {
    const stray = strays.find((one) => isIn(one) && random() < one.part);
    return stray?.waitMs ?? counter(clock.now());
  };
  const work = async (quota: KeyQuota): Promise<void> => {
    for (let turn = 0; clock.now() < end; turn++) {
      const pause = idle.find(isIn);
      if (pause) await clock.sleep(start + pause.end - clock.now());
      const permit = await quota.acquire("klines", turn);
      await clock.sleep(Math.round(5 + random() * arrivalMs));
      const wait = waitOf();
      if (clock.now() < end) (wait > 0 ? refused : passed).push(clock.now() - start);
      await clock.sleep(Math.round(5 + random() * (wait > 0 ? 50 : responseMs)));
      if (wait > 0) permit.refused(hints ? Math.ceil(wait) : undefined);
      else permit.passed();
    }
  };
  const workers = Array.from({ length: simulation.workers ?? 4 });
  await Promise.all([...quotas.flatMap((quota) => workers.map(() => work(quota))), ...others.map(other)]);
  return { passed, refused, states: quotas.map((quota) => quota.stateOf("klines")) };
}

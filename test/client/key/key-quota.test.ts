import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type GroupOptions, KeyQuota } from "../../../src/client/key/key-quota.js";
import type { Clock } from "../../../src/core/time.js";
import { eventClock } from "../../faults/clock/event-clock.js";
import { once } from "../../once.js";
import { SEED } from "../../setup.js";
import { pickFrom } from "../../sweep.js";
import {
  type Counter,
  fixedWindow,
  MINUTE,
  type Outcome,
  type Simulation,
  simulate,
  slidingWindow,
  tokenBucket,
} from "../simulated-service.js";

const LIMIT = 30;
/**
 * Refusals a minute that a limit costs at most which is not known: it is tested upwards all the time. Over 40 random
 * services each, the median is between 0.6 and 3.1, and the most 3.5.
 */
const LESSONS_A_MINUTE = 4;
const KNOWN = { configured: LIMIT };
/** Services of one limit that count in different ways. */
const SERVICES: readonly [string, () => Counter][] = [
  ["fixed minutes", () => fixedWindow(LIMIT, 0)],
  ["fixed minutes that begin at another second", () => fixedWindow(LIMIT, 41_503)],
  ["sliding minutes", () => slidingWindow(LIMIT)],
  ["tokens", () => tokenBucket(LIMIT)],
];

/** A quota of one group of endpoints. */
function groupQuota({
  clock,
  sentBefore = [],
  ...options
}: GroupOptions & { readonly clock: Clock; readonly sentBefore?: readonly number[] }) {
  const quota = new KeyQuota(clock, () => options);
  quota.setShare(1, { sent: { klines: sentBefore }, died: [] });
  return {
    acquire: (turn: number, signal?: AbortSignal) => quota.acquire("klines", turn, signal),
    get state() {
      return quota.stateOf("klines");
    },
    get sentLately() {
      return quota.sentLately.klines;
    },
  };
}

/** Numbers from 0 to 1 that are the same in each run. */
function randoms(seed = SEED): () => number {
  const numbers = fc.sample(fc.double({ min: 0, max: 1, noNaN: true }), { seed, numRuns: 1009 });
  let next = 0;
  return () => numbers[next++ % numbers.length] as number;
}

function during(minutes: number, counter: Counter, more: Partial<Simulation> = {}): Promise<Outcome> {
  return simulate({ minutes, counter, random: randoms(), ...more });
}

/** Two groups that always want more, and what counts each of them. */
async function simulateGroups(
  counterOf: (group: "klines" | "reference") => Counter,
  minutes: number,
  random = randoms(),
) {
  const clock = eventClock(0);
  const quota = new KeyQuota(clock, () => ({}));
  const counters = { klines: counterOf("klines"), reference: counterOf("reference") };
  const counts = { klines: 0, reference: 0, refused: 0 };
  let turn = 0;
  const work = async (group: "klines" | "reference"): Promise<void> => {
    while (clock.now() < minutes * MINUTE) {
      const permit = await quota.acquire(group, turn++);
      await clock.sleep(Math.round(5 + 100 * random()));
      const wait = counters[group](clock.now());
      counts[wait > 0 ? "refused" : group]++;
      await clock.sleep(Math.round(5 + 1000 * random()));
      if (wait > 0) permit.refused(Math.ceil(wait));
      else permit.passed();
    }
  };
  await Promise.all((["klines", "reference"] as const).flatMap((group) => [work(group), work(group)]));
  const byGroup = [counts.klines, counts.reference];
  const passed = counts.klines + counts.reference;
  return { byGroup, passed, refused: counts.refused, isKey: quota.isOfKey, quota };
}

/** The part of what a service lets through in so many minutes. */
function partUsed({ passed }: Outcome, minutes: number): number {
  return passed.length / (LIMIT * minutes);
}

describe.each(pickFrom(SERVICES, { few: 1, more: 4, all: 4 }))(
  "a service that counts by %s",
  (_, counter) => {
    test.each([
      [1, 900],
      [4, 4000],
      [16, 20_000],
    ])(
      "gives all it permits and refuses none: %i at once, responses in up to %i ms",
      async (workers, responseMs) => {
        const outcome = await during(30, counter(), {
          random: randoms(SEED),
          workers,
          responseMs,
          quotas: [KNOWN],
        });
        expect(outcome.refused).toEqual([]);
        expect(partUsed(outcome, 30)).toBeGreaterThanOrEqual(0.98);
      },
    );

    test("does so through hours", async () => {
      const outcome = await during(150, counter(), { quotas: [KNOWN] });
      expect(outcome.refused).toEqual([]);
      expect(partUsed(outcome, 150)).toBeGreaterThanOrEqual(0.98);
    });

    test("does so for several processes with a share each", async () => {
      const quotas = [0.5, 0.3, 0.2].map((share) => ({ ...KNOWN, share }));
      const outcome = await during(30, counter(), { quotas });
      expect(outcome.refused).toEqual([]);
      expect(partUsed(outcome, 30)).toBeGreaterThanOrEqual(0.98);
      expect(outcome.states.map(({ limit }) => limit)).toEqual([15, 9, 6]);
    });

    test("does so although half of each minute goes by while nobody asks", async () => {
      const idle = Array.from({ length: 30 }, (__, k) => ({
        start: (k + 0.3) * MINUTE,
        end: (k + 0.8) * MINUTE,
      }));
      const outcome = await during(30, counter(), { quotas: [KNOWN], responseMs: 1000, idle });
      expect(outcome.refused).toEqual([]);
      expect(partUsed(outcome, 30)).toBeGreaterThanOrEqual(0.95);
    });

    test.each([true, false])("shows its limit by its refusals; with stated waits: %s", async (hints) => {
      const learned: number[] = [];
      const quotas = [{ onLearned: (rpm: number) => learned.push(rpm) }];
      const outcome = await during(120, counter(), { hints, quotas });
      expect(outcome.states[0]).toMatchObject({ learned: true, waits: expect.any(Number) });
      expect(learned.at(-1)).toBeGreaterThanOrEqual(0.9 * LIMIT);
      expect(learned.at(-1)).toBeLessThanOrEqual(2 * LIMIT);
      expect(partUsed(outcome, 120)).toBeGreaterThanOrEqual(0.95);
      expect(outcome.refused.length).toBeLessThan(LESSONS_A_MINUTE * 120);
    });

    test("is found again where its limit was learned too low", async () => {
      const outcome = await during(60, counter(), { quotas: [{ learned: 2 }] });
      expect(outcome.states[0]?.limit).toBeGreaterThanOrEqual(0.9 * LIMIT);
      expect(outcome.refused.length).toBeLessThan(LESSONS_A_MINUTE * 60);
    });
  },
);

describe("a service that refuses bursts", () => {
  once.each([1, 2, 5])("of more than %i is soon asked evenly", async (capacity) => {
    const counter = tokenBucket(LIMIT, capacity);
    const outcome = await during(60, counter, { arrivalMs: 30, quotas: [KNOWN] });
    expect(outcome.refused.length).toBeGreaterThan(0);
    expect(outcome.refused.length).toBeLessThan(LESSONS_A_MINUTE * 60);
    // Evenly spaced requests that may not come early at all: 0.87 at least over 40 random services.
    expect(partUsed(outcome, 60)).toBeGreaterThanOrEqual(0.85);
  });

  once.each([true, false])("shows its limit by its refusals; with stated waits: %s", async (hints) => {
    const outcome = await during(120, tokenBucket(LIMIT, 5), { arrivalMs: 30, hints });
    expect(outcome.states[0]?.limit).toBeGreaterThanOrEqual(0.8 * LIMIT);
    expect(outcome.refused.length).toBeLessThan(LESSONS_A_MINUTE * 120);
  });
});

once("a stated limit that is too high is corrected; a stated limit is never exceeded", async () => {
  const high = await during(60, slidingWindow(LIMIT), { quotas: [{ configured: 2 * LIMIT }] });
  expect(high.refused.length).toBeLessThan(LESSONS_A_MINUTE * 60);
  expect(partUsed(high, 60)).toBeGreaterThanOrEqual(0.95);
  const low = await during(60, slidingWindow(LIMIT), { quotas: [{ configured: 10, learned: 25 }] });
  expect(low.refused).toEqual([]);
  expect(low.passed.length).toBeLessThanOrEqual(600);
  expect(low.states[0]).toMatchObject({ limit: 10, learned: false, waits: 0 });
});

once(
  "two groups share the limit of a key, once a refusal of each has shown that it is the key's",
  async () => {
    const shared = slidingWindow(LIMIT);
    const seen = await simulateGroups(() => shared, 20);
    expect(seen.isKey).toBe(true);
    expect(seen.passed / (LIMIT * 20)).toBeGreaterThanOrEqual(0.95);
    expect(seen.refused).toBeLessThan(2 * LESSONS_A_MINUTE * 20);
    // Neither group starves.
    expect(Math.min(...seen.byGroup)).toBeGreaterThan(0.3 * seen.passed);
  },
);

once("a limit of one group slows that group alone", async () => {
  const [slow, fast] = [slidingWindow(LIMIT), slidingWindow(1e6)];
  const seen = await simulateGroups((group) => (group === "klines" ? slow : fast), 10);
  expect(seen.isKey).toBe(false);
  expect(seen.byGroup[0]).toBeGreaterThanOrEqual(0.95 * 10 * LIMIT);
  expect(seen.byGroup[1]).toBeGreaterThan(10 * LIMIT);
});

once("what was sent before counts, and a quota of less than one a minute is obeyed as well", async () => {
  const clock = eventClock(1_000_000);
  const quota = groupQuota({ clock, configured: 2, sentBefore: [930_000, 950_000, 990_000] });
  (await quota.acquire(0)).passed();
  expect(clock.now()).toBe(950_000 + 1000 + MINUTE + 25);
  expect(quota.sentLately).toEqual([990_000, clock.now()]);
  const slow = groupQuota({ clock, configured: 0.5 });
  for (let i = 0; i < 3; i++) (await slow.acquire(i)).passed();
  expect(clock.now()).toBe(950_000 + 1000 + MINUTE + 25 + 2 * (2 * MINUTE + 25));
});

once(
  "requests have an order: a refused one goes before later ones, and one goes ahead of all after a wait",
  async () => {
    const clock = eventClock(0);
    const quota = groupQuota({ clock });
    const [first, second] = [await quota.acquire(0), await quota.acquire(1)];
    const log: string[] = [];
    const ask = async (turn: number): Promise<void> => {
      const permit = await quota.acquire(turn);
      log.push(`${turn}@${clock.now()}`);
      await clock.sleep(100);
      permit.passed();
    };
    second.refused(5000);
    expect(quota.state).toMatchObject({ limit: undefined, learned: false, waitingUntil: 5002, waits: 1 });
    const later = [ask(2), ask(3)];
    first.refused(undefined);
    await Promise.all([...later, ask(1), ask(0)]);
    expect(log[0]).toBe("0@5002");
    expect(log.map((one) => Number.parseInt(one, 10))).toEqual([0, 1, 2, 3]);
  },
);

once("who gives up leaves the line, and an empty line waits for nothing", async () => {
  const clock = eventClock(0);
  const quota = groupQuota({ clock, configured: 1 });
  (await quota.acquire(0)).passed();
  const controller = new AbortController();
  const givenUp = quota.acquire(1, controller.signal);
  const patient = quota.acquire(2);
  controller.abort(new Error("enough"));
  await expect(givenUp).rejects.toThrow("enough");
  (await patient).passed();
  expect(clock.now()).toBe(MINUTE + 25);
  const another = new AbortController();
  const last = quota.acquire(3, another.signal);
  another.abort(new Error("enough"));
  await expect(last).rejects.toThrow("enough");
  expect(clock.sleepers).toBe(0);
  await expect(quota.acquire(4, another.signal)).rejects.toThrow("enough");
});

once("a clock that is set back does not stop the line", async () => {
  let now = 10_000_000;
  const clock = { now: () => now, sleep: async (ms: number) => void (now += ms) };
  const quota = groupQuota({ clock, configured: 1 });
  (await quota.acquire(0)).passed();
  now = 5_000_000;
  (await quota.acquire(1)).passed();
  expect(now).toBe(5_000_000);
});

once(
  "a permit with which nothing was sent is free at once; one that was sent late counts from then",
  async () => {
    const clock = eventClock(0);
    const quota = new KeyQuota(clock, () => ({ configured: 1 }));
    (await quota.acquire("klines", 0)).unsent();
    const late = await quota.acquire("klines", 1);
    expect([clock.now(), quota.sentLately.klines]).toEqual([0, [0]]);
    await clock.sleep(10_000);
    late.sentNow();
    late.passed();
    expect(quota.sentLately.klines).toEqual([10_000]);
    await quota.acquire("klines", 2);
    expect(clock.now()).toBeGreaterThanOrEqual(10_000 + MINUTE);
  },
);

once("a permit that is used after minutes still counts: the log of requests has dropped it", async () => {
  const clock = eventClock(0);
  const quota = new KeyQuota(clock, () => ({ configured: 2 }));
  const late = await quota.acquire("klines", 0);
  await clock.sleep(150_000);
  (await quota.acquire("klines", 1)).passed();
  late.sentNow();
  late.passed();
  expect(quota.sentLately.klines).toEqual([150_000, 150_000]);
  await quota.acquire("klines", 2);
  expect(clock.now()).toBeGreaterThanOrEqual(150_000 + MINUTE);
});

once("a request that goes ahead after a wait, and was not sent, leaves that to the next one", async () => {
  const clock = eventClock(0);
  const quota = new KeyQuota(clock, () => KNOWN);
  (await quota.acquire("klines", 0)).refused(1000);
  (await quota.acquire("klines", 1)).unsent();
  const ahead = await quota.acquire("klines", 2);
  let isGranted = false;
  const acquireNext = async (): Promise<void> => {
    await quota.acquire("klines", 3);
    isGranted = true;
  };
  const next = acquireNext();
  await clock.sleep(MINUTE);
  expect(isGranted).toBe(false);
  ahead.passed();
  await next;
  expect(isGranted).toBe(true);
});

once("what is too much for a smaller part of a limit of the whole key is handed over", async () => {
  const shared = slidingWindow(LIMIT);
  // Numbers with which the last minute is not one in which the quota was learned, so that much was sent in it.
  const { quota } = await simulateGroups(() => shared, 10, randoms(20_260_101));
  expect(quota.isOfKey).toBe(true);
  const used = quota.stateOf("klines").usedLastMinute;
  expect(used).toBeGreaterThan(LIMIT / 2);
  const handedOver = Object.values(quota.giveUp(0.25)).flat();
  // Requests count for a little longer than a minute, so more than the state shows may be handed over.
  expect(handedOver.length).toBeGreaterThanOrEqual(used - LIMIT / 4);
  expect(quota.stateOf("klines").usedLastMinute).toBeLessThanOrEqual(LIMIT / 4);
});

once("what was taken at two times counts for a group that is asked for first after both", () => {
  const clock = eventClock(100_000);
  const quota = new KeyQuota(clock, () => ({ configured: 10 }), 0.1);
  const died = [{ share: 0.3, at: 98_000 }];
  expect(quota.setShare(0.2, { sent: { klines: [99_000] }, died })).toBe(true);
  const sent = { klines: [99_500], reference: [99_500] };
  expect(quota.setShare(0.4, { sent, died: [] })).toBe(false);
  // One part of 0.3 of 10 requests died, and two requests were taken.
  expect(quota.stateOf("klines").usedLastMinute).toBe(5);
});

once("a part that is added takes nothing from the count, also of what is too much for it", async () => {
  const clock = eventClock(100_000);
  const quota = new KeyQuota(clock, () => ({ configured: 4 }));
  for (let turn = 0; turn < 4; turn++) (await quota.acquire("klines", turn)).passed();
  quota.setShare(0.5, { sent: { reference: [99_000] }, died: [] });
  expect(quota.stateOf("klines").usedLastMinute).toBe(4);
  expect(quota.giveUp(0.5).klines).toEqual([100_000, 100_000]);
  expect(quota.stateOf("klines").usedLastMinute).toBe(2);
});

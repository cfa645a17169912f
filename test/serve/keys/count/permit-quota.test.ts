import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { once } from "../../../once.js";
import { SEED } from "../../../setup.js";
import { cases } from "../../../sweep.js";
import { Fleet, type Server } from "./fleet.js";

const MINUTE = 60_000;
const LIMIT = 60;

/** A fleet of which no minute ever has more requests than the key's number. */
function setUp(servers: number): { readonly fleet: Fleet; readonly servers: Server[] } {
  const fleet = new Fleet();
  onTestFinished(() => expect(fleet.most).toBeLessThanOrEqual(LIMIT));
  return { fleet, servers: Array.from({ length: servers }, () => fleet.add()) };
}

once("three processes accept together what one would, with a load that is spread unevenly", async () => {
  const { fleet, servers } = setUp(3);
  const end = 3 * MINUTE;
  const rates = [2 * LIMIT, LIMIT / 4, LIMIT / 12];
  await Promise.all(servers.map((server, n) => fleet.load(server, rates[n] ?? 0, LIMIT, end)));
  expect(fleet.between(MINUTE, end)).toBeGreaterThan(0.95 * 2 * LIMIT);
  await Promise.all(servers.map(({ quota }) => quota.close()));
});

once("a process alone accepts the whole number at once, and says when the next one is", async () => {
  const { fleet, servers } = setUp(2);
  const [one, two] = servers as [Server, Server];
  for (let n = 0; n < LIMIT; n++) expect(await fleet.ask(one, LIMIT)).toBe(true);
  const calls = fleet.calls;
  expect(await fleet.ask(one, LIMIT)).toBe(false);
  expect(fleet.waits.at(-1)).toBeGreaterThan(50_000);
  expect(calls).toBeLessThan(30);
  expect(await two.quota.take("bob", 0, LIMIT)).toBe(0);
  // What was used rests when a process ends; another one gets it after that.
  await one.quota.close();
  expect(await fleet.ask(two, LIMIT)).toBe(false);
  await fleet.clock.sleep(MINUTE);
  // The first request makes the process look: the permits have rested by its own clock.
  while (!(await fleet.ask(two, LIMIT))) await fleet.clock.sleep(1000);
  await two.quota.close();
});

once.each([1, 1.2])(
  "a load of %d times the number that moves from one process to the other is followed",
  async (load) => {
    const { fleet, servers } = setUp(2);
    const [one, two] = servers as [Server, Server];
    await fleet.load(one, load * LIMIT, LIMIT, MINUTE);
    await fleet.load(two, load * LIMIT, LIMIT, 2 * MINUTE);
    expect(fleet.between(MINUTE, 2 * MINUTE)).toBeGreaterThanOrEqual(0.93 * LIMIT);
    await Promise.all(servers.map(({ quota }) => quota.close()));
  },
);

once(
  "a process that is cut off accepts what it has for 45 seconds; the others get it when it was silent for a minute",
  async () => {
    const { fleet, servers } = setUp(2);
    const [one, two] = servers as [Server, Server];
    const load = (end: number): Promise<unknown> =>
      Promise.all(servers.map((server) => fleet.load(server, LIMIT, LIMIT, end)));
    await load(MINUTE);
    one.isCutOff = true;
    const before = fleet.accepted.length;
    await fleet.load(one, 2 * LIMIT, LIMIT, MINUTE + 44_000);
    expect(fleet.accepted.length).toBeGreaterThan(before);
    await fleet.clock.sleep(2000);
    const own = fleet.accepted.length;
    for (let n = 0; n < 10; n++) expect(await fleet.ask(one, LIMIT)).toBe(false);
    expect([fleet.waits.at(-1), one.faults.length]).toEqual([5000, 1]);
    expect(fleet.accepted).toHaveLength(own);
    await fleet.load(two, 2 * LIMIT, LIMIT, 6 * MINUTE);
    expect(fleet.between(5 * MINUTE, 6 * MINUTE)).toBeGreaterThan(0.95 * LIMIT);
    one.isCutOff = false;
    await fleet.clock.sleep(MINUTE);
    await load(9 * MINUTE);
    expect(fleet.between(8 * MINUTE, 9 * MINUTE)).toBeGreaterThan(0.95 * LIMIT);
    await Promise.all(servers.map(({ quota }) => quota.close()));
  },
);

once("a process that wakes after a pause has lost its permits", async () => {
  const { fleet, servers } = setUp(2);
  const [one, two] = servers as [Server, Server];
  for (let n = 0; n < LIMIT; n++) await fleet.ask(one, LIMIT);
  one.pausedUntil = fleet.clock.now() + 150_000;
  await fleet.load(two, 2 * LIMIT, LIMIT, 150_000);
  expect(fleet.between(125_000, 150_000)).toBeGreaterThan(LIMIT / 2);
  for (let n = 0; n < LIMIT; n++) await fleet.ask(one, LIMIT);
  await Promise.all(servers.map(({ quota }) => quota.close()));
});

/** What becomes of a process, in milliseconds from the start. */
interface Plan {
  /** Requests a minute, by the minute in which they are sent. */
  readonly rates: readonly number[];
  readonly joins: number;
  readonly leaves: { readonly at: number; readonly kind: "ends" | "is killed" } | undefined;
  readonly paused: { readonly at: number; readonly ms: number } | undefined;
  readonly cutOff: { readonly at: number; readonly ms: number } | undefined;
  /** The place is slow. */
  readonly slow: { readonly at: number; readonly ms: number; readonly callMs: number } | undefined;
  readonly aheadMs: number;
}

const DISTURBED_MS = 4 * MINUTE;

/** Runs a process as planned; it is not disturbed any more after 5 minutes. */
async function live(fleet: Fleet, plan: Plan, limit: number): Promise<void> {
  const { clock } = fleet;
  const at = (ms: number): Promise<void> => clock.sleep(Math.max(0, fleet.start + ms - clock.now()));
  const { leaves, paused, cutOff, slow, joins } = plan;
  await at(joins);
  if (leaves !== undefined && leaves.at <= joins) return;
  const server = fleet.add();
  server.aheadMs = plan.aheadMs;
  const during = async (
    span: { readonly at: number; readonly ms: number } | undefined,
    begin: (until: number) => void,
    end = (): void => {},
  ): Promise<void> => {
    if (span === undefined) return;
    await at(span.at);
    begin(clock.now() + span.ms);
    await clock.sleep(span.ms);
    end();
  };
  const until = Math.min(leaves?.at ?? Number.POSITIVE_INFINITY, plan.rates.length * MINUTE);
  const load = async (): Promise<void> => {
    for (const [minute, rate] of plan.rates.entries()) {
      await at(minute * MINUTE);
      const end = Math.min(until, (minute + 1) * MINUTE);
      if (rate > 0 && end > joins) await fleet.load(server, rate, limit, end);
    }
  };
  const leave = async (): Promise<void> => {
    if (leaves === undefined) return;
    await at(leaves.at);
    if (leaves.kind === "is killed") server.isKilled = true;
    else await server.quota.close();
  };
  // A killed process never ends what it does.
  const working = Promise.all([
    load(),
    during(paused, (end) => {
      server.pausedUntil = end;
    }),
    during(
      cutOff,
      () => {
        server.isCutOff = true;
      },
      () => {
        server.isCutOff = false;
      },
    ),
    during(
      slow,
      () => {
        server.callMs = slow?.callMs ?? 0;
      },
      () => {
        server.callMs = 20;
      },
    ),
  ]);
  await Promise.all([leave(), leaves?.kind === "is killed" ? at(leaves.at) : working]);
  if (leaves === undefined) await server.quota.close();
}

test("also when processes stop, end or die, no minute has more than the key's number, and 95 % of it can be used again", async () => {
  const time = fc.nat(DISTURBED_MS);
  const span = fc.option(fc.record({ at: time, ms: fc.nat(2 * MINUTE) }), { nil: undefined });
  const rate = fc.constantFrom(0, 0.1, 0.5, 1.2, 3);
  const plan = fc.record({
    rates: fc.array(rate, { minLength: 6, maxLength: 6 }),
    joins: fc.nat(2 * MINUTE),
    leaves: fc.option(fc.record({ at: time, kind: fc.constantFrom("ends" as const, "is killed" as const) }), {
      nil: undefined,
    }),
    paused: span,
    cutOff: span,
    slow: fc.option(
      fc.record({ at: time, ms: fc.nat(2 * MINUTE), callMs: fc.integer({ min: 500, max: 20_000 }) }),
      {
        nil: undefined,
      },
    ),
    aheadMs: fc.constantFrom(0, 60 * MINUTE, -60 * MINUTE),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(plan, { minLength: 2, maxLength: 4 }),
      fc.integer({ min: 20, max: 120 }),
      async (plans, limit) => {
        const fleet = new Fleet();
        const steady: Plan = {
          // All of the load comes to one process in the end.
          rates: Array.from({ length: 12 }, (_, minute) => (minute < 6 ? 0.5 : 1.3) * limit),
          joins: 0,
          leaves: undefined,
          paused: undefined,
          cutOff: undefined,
          slow: undefined,
          aheadMs: 0,
        };
        const scaled = plans.map((one) => ({ ...one, rates: one.rates.map((part) => part * limit) }));
        await Promise.all([steady, ...scaled].map((one) => live(fleet, one, limit)));
        expect(fleet.most).toBeLessThanOrEqual(limit);
        expect(fleet.between(10 * MINUTE, 12 * MINUTE)).toBeGreaterThanOrEqual(Math.floor(0.95 * 2 * limit));
      },
    ),
    { numRuns: cases({ few: 3, more: 10, all: 1000 }), seed: SEED, endOnFailure: true },
  );
});

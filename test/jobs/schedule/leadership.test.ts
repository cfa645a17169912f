import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { definePipeline } from "../../../src/jobs/pipeline/definition.js";
import type { LastRun } from "../../../src/jobs/run/report/run-history.js";
import { Leadership } from "../../../src/jobs/schedule/leadership.js";
import { catchUpWith, dueAt, initialStates } from "../../../src/jobs/schedule/pipeline-state.js";
import { Lake } from "../../../src/lake/lake.js";
import { folderStorage } from "../../../src/lake/storage/folder-storage.js";
import type { LeaseStore } from "../../../src/lease/lease-store.js";
import { eventClock } from "../../faults/clock/event-clock.js";
import { leasesAt, type MachinePlan, machineOf } from "../../lease/simulated-machine.js";
import { SEED } from "../../setup.js";
import { cases } from "../../sweep.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOW = Date.parse("2026-11-20T10:00:00Z");

/** A machine with a schedule of some pipelines. */
interface Plan extends MachinePlan {
  readonly pipelines: readonly string[];
}

interface Event {
  readonly at: number;
  readonly machine: number;
  readonly kind: "leads" | "standby" | "lost";
  readonly pipelines: readonly string[];
}

/** A time at which a schedule had confirmed that it leads a pipeline. */
interface Confirmed {
  readonly at: number;
  readonly pipeline: string;
  readonly machine: number;
  /** Counts the times at which this machine began to lead. */
  readonly term: number;
}

/** The id of a machine in place of this one's: all simulated ones are in one process. */
function asMachine(store: LeaseStore, machine: number): LeaseStore {
  const id = ["0123456789ab", `0123456789${String(machine).padStart(2, "0")}`, "000000000000"].join("-");
  return {
    ...store,
    create: (name, text, state) =>
      store.create(name, JSON.stringify({ ...JSON.parse(text), machine: id }), state),
  };
}

/** Runs schedules of several machines for some minutes; each confirms every second what it leads. */
async function simulate(plans: readonly Plan[], minutes: number) {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const time = eventClock(NOW);
  const store = leasesAt(time);
  const end = NOW + minutes * MINUTE;
  const events: Event[] = [];
  const confirmed: Confirmed[] = [];
  const faults: string[] = [];

  const live = async (plan: Plan, machine: number): Promise<void> => {
    const { pipelines, joins, leaves } = plan;
    const ending = new AbortController();
    // No two clocks are equal, and so no two leases of the same time.
    const ownPlan = { ...plan, clockAheadMs: (plan.clockAheadMs ?? 0) + machine };
    const { clock, reach } = machineOf(ownPlan, store, time, ending.signal);
    await time.sleep(joins);
    if (leaves !== undefined && leaves.at <= joins) return;
    void time.sleep((leaves === undefined ? end : NOW + leaves.at) - time.now()).then(() => ending.abort());
    let terms = 0;
    const record = (kind: Event["kind"]) => (named: readonly string[]) =>
      void events.push({ at: time.now() - NOW, machine, kind, pipelines: named });
    const storage = { ...folderStorage("unused"), leases: () => asMachine(reach, machine) };
    const leadership = new Leadership(new Lake("unused", { storage }), pipelines, {
      clock,
      signal: ending.signal,
      async onLead(named) {
        terms++;
        record("leads")(named);
      },
      onStandby: record("standby"),
      onLost: record("lost"),
      onFault: (error) => void faults.push(String(error)),
    });
    await leadership.leadFree().catch((error: unknown) => {
      if (!ending.signal.aborted) expect(error).toMatchObject({ message: "no connection" });
    });
    leadership.watch();
    while (!ending.signal.aborted) {
      for (const pipeline of pipelines)
        if (leadership.leads(pipeline) && (await leadership.confirm(pipeline)) && !ending.signal.aborted)
          confirmed.push({ at: time.now() - NOW, pipeline, machine, term: terms });
      await clock.sleep(1000, ending.signal).catch(() => {});
    }
    if (leaves?.kind !== "dies") await leadership.close().catch(() => {});
  };
  const renewals = async (): Promise<void> => {
    while (time.now() < end) {
      await time.sleep(1000);
      vi.advanceTimersByTime(1000);
    }
  };
  try {
    const dead = (plan: Plan): Promise<void>[] =>
      plan.leaves?.kind === "dies" ? [time.sleep(plan.leaves.at)] : [];
    await Promise.all([renewals(), ...plans.map((plan, n) => Promise.race([live(plan, n), ...dead(plan)]))]);
  } finally {
    vi.useRealTimers();
  }
  return { events, confirmed, faults, calls: store.calls.n };
}

/** Machines that confirmed a pipeline in a span of milliseconds from the start. */
function leadersOf(confirmed: readonly Confirmed[], pipeline: string, from: number, to: number): number[] {
  const found = confirmed.filter((one) => one.pipeline === pipeline && one.at >= from && one.at < to);
  return [...new Set(found.map(({ machine }) => machine))];
}

/** A schedule leads a pipeline once, and then another one does: two never lead it at the same time. */
function expectOneAfterTheOther(confirmed: readonly Confirmed[]): void {
  for (const pipeline of new Set(confirmed.map((one) => one.pipeline))) {
    const terms = confirmed
      .filter((one) => one.pipeline === pipeline)
      .map(({ machine, term }) => `${machine} ${term}`);
    const blocks = terms.filter((term, n) => term !== terms[n - 1]);
    expect(blocks).toEqual([...new Set(blocks)]);
  }
}

test("schedules that share one pipeline lead the others at the same time; the shared one has one leader", async () => {
  const { events, confirmed } = await simulate(
    [
      { joins: 0, pipelines: ["daily", "intraday"], leaves: { at: 2 * MINUTE, kind: "ends" } },
      { joins: 1000, pipelines: ["daily", "financials"], clockAheadMs: HOUR },
    ],
    4,
  );
  expect(events.slice(0, 3)).toEqual([
    { at: 0, machine: 0, kind: "leads", pipelines: ["daily", "intraday"] },
    { at: 1000, machine: 1, kind: "standby", pipelines: ["daily"] },
    { at: 1000, machine: 1, kind: "leads", pipelines: ["financials"] },
  ]);
  const [taken, ...more] = events.slice(3);
  expect([taken, more]).toMatchObject([{ machine: 1, kind: "leads", pipelines: ["daily"] }, []]);
  expect(taken?.at).toBeLessThanOrEqual(2 * MINUTE + 5000);
  expect(leadersOf(confirmed, "daily", 0, 2 * MINUTE)).toEqual([0]);
  expect(leadersOf(confirmed, "daily", 2 * MINUTE, 4 * MINUTE)).toEqual([1]);
  expect(leadersOf(confirmed, "financials", 0, 4 * MINUTE)).toEqual([1]);
  expectOneAfterTheOther(confirmed);
});

test.each<[string, Partial<Plan>, number, readonly Event["kind"][]]>([
  ["dies", { leaves: { at: MINUTE, kind: "dies" } }, MINUTE, ["leads"]],
  ["is stopped, and wakes", { stops: { at: MINUTE, ms: 50_000 } }, MINUTE, ["leads", "lost", "standby"]],
  ["is cut off from the store", { cutOff: { at: MINUTE, ms: 50_000 } }, MINUTE, ["leads", "lost", "standby"]],
  ["is stopped for 19 seconds", { stops: { at: MINUTE, ms: 19_000 } }, Number.POSITIVE_INFINITY, ["leads"]],
])("another schedule takes over 30 to 40 seconds after the leader %s", async (_, plan, from, expected) => {
  const { events, confirmed, faults } = await simulate(
    [
      { joins: 0, pipelines: ["daily", "intraday"], ...plan },
      { joins: 1000, pipelines: ["daily", "financials"], clockAheadMs: -HOUR },
    ],
    4,
  );
  expect(events.filter(({ machine }) => machine === 0).map(({ kind }) => kind)).toEqual(
    // Nobody else leads what is not shared: it is led again.
    expected.length === 1 ? expected : [...expected, "leads"],
  );
  const taken = events.find(
    ({ machine, pipelines }, n) => machine === 1 && n > 2 && pipelines[0] === "daily",
  );
  if (Number.isFinite(from)) {
    expect(taken).toMatchObject({ kind: "leads", pipelines: ["daily"] });
    expect((taken?.at ?? 0) - from).toBeGreaterThan(25_000);
    expect((taken?.at ?? 0) - from).toBeLessThanOrEqual(40_000);
    expect(leadersOf(confirmed, "daily", 2 * MINUTE, 4 * MINUTE)).toEqual([1]);
  } else expect(taken).toBeUndefined();
  expectOneAfterTheOther(confirmed);
  expect(faults).toEqual([]);
});

test("also when machines stop, end or die, no pipeline ever has two leaders, and each has one in the end", async () => {
  const event = fc.integer({ min: 1, max: 4 * MINUTE });
  const span = fc.option(fc.record({ at: event, ms: fc.nat(90_000) }), { nil: undefined });
  const plan = fc.record({
    pipelines: fc.subarray(["daily", "intraday", "financials"], { minLength: 1 }),
    joins: fc.nat(MINUTE),
    leaves: fc.option(fc.record({ at: event, kind: fc.constantFrom("ends", "dies") }), { nil: undefined }),
    stops: span,
    cutOff: span,
    clockAheadMs: fc.constantFrom(0, HOUR, -HOUR, 1234),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(plan, { minLength: 2, maxLength: 4 }), async (plans) => {
      const { confirmed } = await simulate(plans, 9);
      expectOneAfterTheOther(confirmed);
      for (const pipeline of ["daily", "intraday", "financials"]) {
        const able = plans.filter(
          ({ pipelines, leaves }) => leaves === undefined && pipelines.includes(pipeline),
        );
        expect([pipeline, leadersOf(confirmed, pipeline, 8 * MINUTE, 9 * MINUTE).length]).toEqual([
          pipeline,
          Math.min(1, able.length),
        ]);
      }
    }),
    { numRuns: cases({ few: 4, all: 500 }), seed: SEED, endOnFailure: true },
  );
});

const LAST: LastRun = {
  status: "complete",
  startedAt: NOW - HOUR,
  finishedAt: NOW - HOUR,
  lastSuccessAt: NOW,
};

test.each([
  ["that another machine has run", { missed: true, neverRun: false }, LAST, NOW + HOUR],
  [
    "that nobody has run while this one was on standby",
    { missed: false, neverRun: false },
    { ...LAST, startedAt: 0 },
    NOW,
  ],
  ["that never ran", { missed: true, neverRun: false }, undefined, NOW],
  [
    "whose run was killed with its machine",
    { missed: true, neverRun: false },
    { ...LAST, status: "interrupted" },
    NOW - 23 * HOUR,
  ],
] as const)("after a takeover a pipeline is due once: one %s", (_, catchUp, last, due) => {
  const pipeline = definePipeline({ name: "mine", kind: "reference", schedule: { cron: "0 * * * *" } });
  const always = (): boolean => true;
  const states = initialStates([pipeline], new Map(), catchUp, NOW - HOUR);
  const runs = new Map(last === undefined ? [] : [["mine", last]]);
  // It began to stand by a minute before a due time, and leads half an hour after it.
  catchUpWith(states, runs, catchUp, NOW - 60_000, NOW + HOUR / 2);
  const [state] = states;
  const isDue = last === LAST ? NOW : due;
  expect(state && dueAt(state, always)).toBe(isDue);
});

import { expect, test } from "vitest";
import type { Leading } from "../../../src/jobs/schedule/leadership.js";
import { runDue, runSchedule } from "../../../src/jobs/schedule/run-schedule.js";
import { html } from "../../faults/service/scripted-service.js";
import { right } from "../scripted-market.js";
import { bars, scheduledMarket } from "./scheduled-market.js";

const NEVER_RUN = { missed: true, neverRun: true };
const EVENING = { at: "18:30", region: "CN" } as const;

test("a week: each trading day at its time in the exchange's zone, and no day of the weekend", async () => {
  const { begin, events } = await scheduledMarket(right, {
    start: "2026-11-19T00:00:00Z",
    until: "2026-11-24T00:00:00Z",
  });
  await runSchedule(...(await begin([bars("daily", EVENING)])));
  expect(events).toEqual(
    ["19", "20", "23", "24"].flatMap((day) => [
      `11-${day}T10:30 daily started`,
      `11-${day}T10:30 daily complete`,
    ]),
  );
});

test("a schedule in New York follows its clocks", async () => {
  const { begin, events } = await scheduledMarket(right, {
    start: "2026-10-30T12:00:00Z",
    until: "2026-11-02T12:00:00Z",
  });
  await runSchedule(...(await begin([bars("daily", { at: "21:30", region: "US", days: "daily" })])));
  expect(events.filter((event) => event.endsWith("started"))).toEqual(
    ["10-31T01:30", "11-01T01:30", "11-02T02:30", "11-03T02:30"].map((time) => `${time} daily started`),
  );
});

test("one after the other in the order of their times; what was due again in the mean time runs once", async () => {
  const { clock, begin, events, hooks } = await scheduledMarket(
    (seen, response, index) => {
      if (index === 0) clock.advance(25 * 60_000);
      right(seen, response, index);
    },
    { start: "2026-11-20T09:59:00Z", until: "2026-11-20T10:35:00Z" },
  );
  hooks.onEvent = (event) => expect(event.kind === "started" && event.dueAt > clock.now()).toBe(false);
  await runSchedule(
    ...(await begin([
      bars("often", { cron: "*/10 * * * *" }),
      bars("later", { cron: "20 10 * * *" }),
      bars("sooner", { cron: "5 10 * * *" }),
    ])),
  );
  expect(events).toEqual([
    "11-20T10:00 often started",
    "11-20T10:25 often complete",
    "11-20T10:25 sooner started",
    "11-20T10:25 sooner complete",
    "11-20T10:25 often started",
    "11-20T10:25 often complete",
    "11-20T10:25 later started",
    "11-20T10:25 later complete",
    "11-20T10:30 often started",
    "11-20T10:30 often complete",
    "11-20T10:40 often started",
    "11-20T10:40 often complete",
  ]);
});

test("reference data goes first of what waits, as the others choose their instruments from it", async () => {
  const { begin, events } = await scheduledMarket((_, response) => html(response, 502), {
    start: "2026-11-20T11:00:00Z",
    until: "2026-11-20T11:00:00Z",
  });
  const reference = { name: "reference", kind: "reference", schedule: { cron: "30 10 * * *" } } as const;
  await runDue(...(await begin([bars("daily", { cron: "0 10 * * *" }), reference], NEVER_RUN)));
  expect(events.filter((event) => event.endsWith("started"))).toEqual([
    "11-20T11:00 reference started",
    "11-20T11:00 daily started",
  ]);
});

test("a run that fails or throws ends itself alone, and is run again when it is next due", async () => {
  let broken = true;
  const { begin, events, hooks } = await scheduledMarket(
    (seen, response, index) => (broken ? html(response, 502) : right(seen, response, index)),
    { start: "2026-11-19T00:00:00Z", until: "2026-11-20T10:40:00Z" },
  );
  const outcomes: unknown[] = [];
  hooks.onEvent = (event) => {
    if (event.kind !== "ended") return;
    outcomes.push([event.pipeline.name, event.outcome.status, event.outcome.stopped, event.previous?.status]);
    if (outcomes.length === 2) broken = false;
  };
  const lost = { name: "lost", kind: "bars", period: "1d", from: "-10d", schedule: EVENING } as const;
  await runSchedule(...(await begin([bars("daily", EVENING), lost])));
  const reason = expect.stringMatching(/knows no instruments.*run the pipeline reference first/);
  expect(outcomes).toEqual([
    ["daily", "failed", undefined, undefined],
    ["lost", "failed", reason, undefined],
    ["daily", "complete", undefined, "failed"],
    ["lost", "failed", reason, "failed"],
    ["daily", "complete", undefined, "complete"],
    ["lost", "failed", reason, "failed"],
  ]);
  expect(events).toHaveLength(12);
});

test.each<[string, { hours: number; missed: boolean; expected: string[] }]>([
  [
    "at once, where it was missed",
    { hours: 40, missed: true, expected: ["11-21T02:40 daily started", "11-21T02:40 daily complete"] },
  ],
  ["not, where that is not wanted", { hours: 40, missed: false, expected: [] }],
  ["not, where it was longer ago than a day", { hours: 64, missed: true, expected: [] }],
])("after a standstill, a pipeline is run %s", async (_, { hours, missed, expected }) => {
  const { clock, begin, events } = await scheduledMarket(right, {
    start: "2026-11-19T10:00:00Z",
    until: "2026-11-19T10:30:00Z",
  });
  await runSchedule(...(await begin([bars("daily", EVENING)])));
  expect(events).toHaveLength(2);
  events.length = 0;
  clock.advance(hours * 3_600_000 + 10 * 60_000);
  await runDue(...(await begin([bars("daily", EVENING)], { missed, neverRun: false })));
  expect(events).toEqual(expected);
});

test("what never ran has missed nothing, unless it is asked for what is due now", async () => {
  const { begin, events } = await scheduledMarket(right, {
    start: "2026-11-20T12:00:00Z",
    until: "2026-11-20T12:00:00Z",
  });
  await runDue(...(await begin([bars("daily", EVENING)])));
  expect(events).toEqual([]);
  await runDue(...(await begin([bars("daily", EVENING)], NEVER_RUN)));
  expect(events).toEqual(["11-20T12:00 daily started", "11-20T12:00 daily complete"]);
});

test("a schedule that is ended ends its run; the next one runs it again", async () => {
  const { begin, stop, events } = await scheduledMarket(
    (seen, response, index) => {
      if (index === 0) stop();
      else right(seen, response, index);
    },
    { start: "2026-11-20T10:00:00Z", until: "2026-11-20T10:40:00Z" },
  );
  await runSchedule(...(await begin([bars("daily", EVENING)])));
  await runSchedule(...(await begin([bars("daily", EVENING)])));
  expect(events.slice(0, 4)).toEqual([
    "11-20T10:30 daily started",
    "11-20T10:30 daily interrupted",
    "11-20T10:30 daily started",
    "11-20T10:30 daily complete",
  ]);
});

test("it runs what it leads; what it comes to lead is found at once, and what it cannot confirm is not begun", async () => {
  const { begin, events, hooks } = await scheduledMarket(right, {
    start: "2026-11-20T09:59:30Z",
    until: "2026-11-20T10:30:00Z",
  });
  const led = new Set(["own"]);
  let [changed, isSure] = [new AbortController(), true];
  const confirmed: string[] = [];
  const leading: Leading = {
    leads: (name) => led.has(name),
    leaderOf: () => undefined,
    async confirm(name) {
      confirmed.push(name);
      const sure = isSure;
      isSure = true;
      return sure;
    },
    get changed() {
      return changed.signal;
    },
  };
  hooks.onEvent = ({ kind }) => {
    if (kind !== "waiting" || led.size > 1) return;
    // Another schedule has ended, and the next confirmation fails once.
    led.add("shared");
    isSure = false;
    changed.abort();
    changed = new AbortController();
  };
  const [states, environment] = await begin([
    bars("own", { cron: "0 10 * * *" }),
    bars("shared", { cron: "30 10 * * *" }),
    bars("other", { cron: "15 10 * * *" }),
  ]);
  await runSchedule(states, { ...environment, leading });
  expect(events).toEqual([
    "11-20T10:00 own started",
    "11-20T10:00 own complete",
    "11-20T10:30 shared started",
    "11-20T10:30 shared complete",
  ]);
  expect(confirmed).toEqual(["own", "own", "shared"]);
});

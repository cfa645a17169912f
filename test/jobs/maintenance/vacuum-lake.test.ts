import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { DAY_MS } from "../../../src/core/time.js";
import { dailyVacuum } from "../../../src/jobs/maintenance/vacuum-lake.js";
import { definePipeline } from "../../../src/jobs/pipeline/definition.js";
import { initialStates } from "../../../src/jobs/schedule/pipeline-state.js";
import { runDue, runSchedule, type ScheduleEvent } from "../../../src/jobs/schedule/run-schedule.js";
import type { Lake } from "../../../src/lake/lake.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { virtualClock } from "../../faults/clock/virtual-clock.js";
import { land, openSession, temporaryLake } from "../../lake/temporary-lake.js";
import { bars } from "../schedule/scheduled-market.js";

/** Before the time of the machine, which dates the files. */
const START = Date.parse("2024-03-01T00:00:00Z");

const filesOf = (lake: Lake): string[] =>
  readdirSync(join(lake.location, "bars_1d"), { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".parquet"),
  );

test("a schedule vacuums once a day, when nothing is due, by its retention, and goes on after a failure", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  const clock = virtualClock(START);
  // Each landing replaces the file of the one before.
  const change = (close: number) =>
    land(session, lake, BARS_1D, [{ at: "2024-01-04T16:00:00Z", close }], { now: clock.now() });
  await change(10);
  const controller = new AbortController();
  const { signal } = controller;
  const events: string[] = [];
  vi.spyOn(lake.storage, "put").mockRejectedValueOnce(new Error("the store is away"));
  const environment = {
    clock,
    signal,
    isTradingDay: () => true,
    // The pipeline takes an hour each evening, and changes a bar.
    run: async () => {
      await change(10 + events.length / 100);
      clock.advance(3_600_000);
      throw new Error("without a report");
    },
    vacuum: dailyVacuum(lake, 2 * DAY_MS, clock),
    onEvent: (event: ScheduleEvent) => {
      if (event.kind === "waiting") return;
      const at = new Date(clock.now()).toISOString().slice(5, 13);
      const files =
        event.kind === "vacuumed" ? event.done.reports.flatMap(({ deleted }) => deleted).length : "";
      events.push(`${at} ${event.kind} ${files}`.trim());
      if (clock.now() > START + 4.4 * DAY_MS) controller.abort();
    },
  };
  const pipelines = [definePipeline(bars("daily", { at: "18:30", region: "CN", days: "daily" }))];
  const states = initialStates(pipelines, new Map(), { missed: true, neverRun: false }, clock.now());
  await runSchedule(states, environment);
  expect(events).toEqual([
    "03-01T00 vacuum failed",
    "03-01T01 vacuumed 0",
    "03-01T10 started",
    "03-01T11 ended",
    "03-02T01 vacuumed 0",
    "03-02T10 started",
    "03-02T11 ended",
    "03-03T01 vacuumed 0",
    "03-03T10 started",
    "03-03T11 ended",
    "03-04T01 vacuumed 1",
    "03-04T10 started",
    "03-04T11 ended",
    "03-05T01 vacuumed 1",
    "03-05T10 started",
    "03-05T11 ended",
  ]);
  // Those of the newest version, and of the versions of two days.
  expect(filesOf(lake)).toHaveLength(4);
  await runDue(states, { ...environment, signal: new AbortController().signal });
  expect(events.at(-1)).toBe("03-05T11 ended");
});

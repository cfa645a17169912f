import { expect, test } from "vitest";
import { type Progress, plainLine, progressLine } from "../../../src/cli/progress.js";

const NOW = Date.parse("2026-11-20T10:00:00Z");
const HALF: Progress = { done: 20, total: 40, unit: "requests", rows: 5000, bytes: 1e6, doing: "bars_1d" };
const QUOTA = { limit: 30, learned: false, usedLastMinute: 23, waitingUntil: undefined, waits: 0 };

test("what a terminal shows: how much is done, time left, rate, size, what is being done", () => {
  expect(progressLine("daily", HALF, 10_000, NOW)).toBe(
    `   daily      ${"█".repeat(12)}${"░".repeat(12)} 20/40 requests · 10.0 s left · 5,000 rows · 500 rows/s · 1.0 MB · bars_1d`,
  );
});

test("without a terminal: the same facts, and no bar", () => {
  expect(plainLine("daily", HALF, 10_000, NOW)).toBe(
    "   daily      20/40 requests · 10.0 s left · 5,000 rows · 500 rows/s · 1.0 MB · bars_1d",
  );
});

test.each([110, 80, 60])(
  "in %i columns: as many facts as fit, each as a whole, the important ones",
  (width) => {
    const progress = { ...HALF, quota: QUOTA, rows: 1_234_567, doing: "bars_1d from 2026-11-02" };
    const line = progressLine("daily", progress, 10_000, NOW, width);
    expect(line.length).toBeLessThanOrEqual(width);
    const whole = progressLine("daily", progress, 10_000, NOW);
    const facts = whole.split(/ · |[█░] /).slice(1);
    const shown = line.split(/ · |[█░] /).slice(1);
    expect(facts).toEqual(expect.arrayContaining(shown));
    expect(shown.slice(0, 2)).toEqual(["20/40 requests", "40.0 s left"]);
    const longest = { done: 0, total: 0, unit: "", rows: 0, doing: "waiting ".repeat(20) };
    expect(progressLine("daily", longest, 0, NOW, width)).toHaveLength(width);
  },
);

test("a share of the work, and nothing counted yet", () => {
  const query = { done: 43.7, total: 100, unit: "%", rows: 2_000_000, doing: "" };
  expect(plainLine("query", query, 4000, NOW)).toBe(
    "   query      43 % · 5.2 s left · 2,000,000 rows · 500,000 rows/s",
  );
  expect(
    plainLine("daily", { ...HALF, done: 0, total: 0, rows: 0, bytes: 0, doing: "planning" }, 0, NOW),
  ).toBe("   daily      planning");
});

test("before the first response and after the last no remaining time is shown", () => {
  const text = (progress: Progress): string => progressLine("daily", progress, 10_000, NOW);
  expect(text({ ...HALF, done: 0 })).not.toContain("left");
  expect(text({ ...HALF, done: 40 })).not.toContain("left");
  expect(text({ ...HALF, done: 0, total: 0 })).toContain("░".repeat(24));
});

test("with a quota: what is used, what is left, when the next one goes; and no faster than it permits", () => {
  const text = progressLine("daily", { ...HALF, quota: QUOTA }, 10_000, NOW);
  expect(text).toContain("quota 23 used, 7 left ·");
  expect(text).toContain("40.0 s left");
  const waiting = { ...QUOTA, usedLastMinute: 31, waitingUntil: NOW + 12_400 };
  expect(progressLine("daily", { ...HALF, quota: waiting }, 10_000, NOW)).toContain(
    "quota 31 used, 0 left, next in 12.4 s",
  );
  const unknown = { ...QUOTA, limit: undefined };
  expect(progressLine("daily", { ...HALF, quota: unknown }, 10_000, NOW)).toContain("23 in the last minute");
});

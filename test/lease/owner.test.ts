import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { isRunning } from "../../src/lease/owner.js";

test("a process runs until it has ended, and what is no process id runs never", () => {
  expect(isRunning(process.pid)).toBe(true);
  // It has ended, and was waited for: its id is free.
  expect(isRunning(spawnSync(process.execPath, ["-e", ""]).pid)).toBe(false);
  for (const none of [Number.NaN, 1.5, 2 ** 40]) expect(isRunning(none)).toBe(false);
});

test.runIf(process.platform === "linux" && process.getuid?.() !== 0)("another user's process runs", () => {
  expect(isRunning(1)).toBe(true);
});

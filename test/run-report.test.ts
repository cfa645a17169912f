import { join } from "node:path";
import { expect, test, vi } from "vitest";
import type { TestModule } from "vitest/node";
import { RunReport } from "./run-report.js";

/** A test file that took some time; hours of it are long on any machine, however busy. */
function moduleOf(name: string, processorSeconds: number): TestModule {
  const module = {
    moduleId: join(process.cwd(), name),
    project: { name: "long" },
    diagnostic: () => ({ collectDuration: 0, setupDuration: 0, duration: 1e9 }),
    meta: () => ({ processorSeconds }),
    state: () => "passed",
  };
  return module as unknown as TestModule;
}

/** What a run with these files ends with. */
function endOf(modules: readonly TestModule[]): { readonly said: string; readonly fails: boolean } {
  const before = process.exitCode;
  const lines: string[] = [];
  const print = vi.spyOn(console, "log").mockReturnValue();
  const warn = vi.spyOn(console, "error").mockImplementation((line: string) => void lines.push(line));
  process.exitCode = undefined;
  try {
    const report = new RunReport({ "listed.long.test.ts": "a reason" });
    for (const module of modules) report.onTestModuleEnd(module);
    report.onTestRunEnd(modules);
    return { said: lines.join("\n"), fails: process.exitCode !== undefined };
  } finally {
    process.exitCode = before;
    print.mockRestore();
    warn.mockRestore();
  }
}

test("a long file that takes too long is named, and fails the run where the time is the processor's", () => {
  const waiting = endOf([moduleOf("waiting.long.test.ts", 20)]);
  expect(waiting).toEqual({
    said: expect.stringMatching(/^waiting\.long\.test\.ts takes \d+ s/),
    fails: false,
  });
  const busy = endOf([moduleOf("busy.long.test.ts", 100)]);
  expect(busy).toEqual({ said: expect.stringMatching(/^busy\.long\.test\.ts takes \d+ s/), fails: true });
  expect(endOf([moduleOf("listed.long.test.ts", 100)])).toEqual({ said: "", fails: false });
});

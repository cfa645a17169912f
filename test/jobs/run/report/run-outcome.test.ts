import { expect, test } from "vitest";
import { systemClock } from "../../../../src/client/system-clock.js";
import { settleRun } from "../../../../src/jobs/run/report/run-history.js";

test("a run that was stopped while it waited to begin is interrupted; any other error is a failure", async () => {
  const stop = new AbortController();
  const waiting = settleRun("daily", systemClock, async () => {
    await systemClock.sleep(3_600_000, stop.signal);
    throw new Error("never");
  });
  stop.abort();
  expect((await waiting).outcome).toMatchObject({
    pipeline: "daily",
    status: "interrupted",
    runId: undefined,
  });
  const failed = await settleRun("daily", systemClock, () => Promise.reject(new Error("no disk")));
  expect(failed.outcome).toMatchObject({ status: "failed", stopped: "no disk" });
});

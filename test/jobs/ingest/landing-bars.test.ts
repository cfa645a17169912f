import { expect, test } from "vitest";
import { ServiceClient } from "../../../src/client/service-client.js";
import { MINUTE_MS } from "../../../src/core/time.js";
import { landResponses } from "../../../src/jobs/ingest/bars/landing-bars.js";
import { RequestSizeLimits } from "../../../src/jobs/run/request/request-size-limits.js";
import { closeRun, openRun } from "../../../src/jobs/run/run.js";
import { Rejects } from "../../../src/lake/land/rejects.js";
import { BARS_1M } from "../../../src/schema/bars.js";
import { virtualClock } from "../../faults/clock/virtual-clock.js";
import { FINAL, openSession, temporaryLake } from "../../lake/temporary-lake.js";
import { columnsOf } from "../../wire/any-kline-columns.js";

test("a group of responses may have any number of broken bars", async () => {
  const [session, lake, clock] = [await openSession(), temporaryLake(), virtualClock("2026-11-21T00:00:00Z")];
  const client = new ServiceClient({ baseUrl: "http://127.0.0.1:1", apiKey: "key", clock });
  const parts = { lake, session, client, clock, rejects: new Rejects(session, "run"), runId: "run" };
  const run = openRun(
    {
      ...parts,
      pipeline: "minute",
      signal: new AbortController().signal,
      limits: new RequestSizeLimits(),
      freeBytes: async () => Number.MAX_SAFE_INTEGER,
    },
    () => {},
  );
  const start = Date.parse("2026-01-05T01:31:00Z");
  const bars = Array.from({ length: 130_000 }, (_, i) => ({
    timestamp: start + i * MINUTE_MS,
    volume: 1n,
    open: 10,
    high: 9,
    low: 10,
    close: 10,
    amount: 10,
  }));
  const columns = columnsOf({ "600519.SH": bars });
  const entry = { records: [], issues: [] };
  await landResponses(run, BARS_1M, [{ columns, source: "run/1", entry }], FINAL);
  expect(await run.context.rejects.save(lake)).toMatchObject([{ rule: "high_below_low", rows: 130_000 }]);
  await closeRun(run);
  await client.close();
});

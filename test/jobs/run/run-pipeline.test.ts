import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { laterErrors } from "../../../src/core/release-after.js";
import { definePipeline } from "../../../src/jobs/pipeline/definition.js";
import { runPipeline } from "../../../src/jobs/run/run-pipeline.js";
import { ResponseSpool } from "../../../src/lake/requests/response-spool.js";
import { leasedRuns } from "../../../src/lake/requests/run-lease.js";
import { json } from "../../faults/service/scripted-service.js";
import { scriptedMarket } from "../scripted-market.js";

const NOW = "2024-01-13T00:00:00Z";
const DAILY = definePipeline({ name: "daily", kind: "bars", period: "1d", from: "2024-01-08" });

test("a run that lacks what it needs throws that error, and closes what it has opened first, even where that fails", async () => {
  const { lake, client, clock } = await scriptedMarket((_seen, response) => json(response, 200, {}), NOW);
  const full = new Error("the disk is full");
  const spool = vi.spyOn(ResponseSpool.prototype, "close").mockRejectedValue(full);
  onTestFinished(() => spool.mockRestore());
  const error: unknown = await runPipeline(DAILY, {}, { lake, client, clock }).catch((one: unknown) => one);
  expect(error).toMatchObject({ name: "UsageError", message: "the lake knows no instruments to ask for" });
  expect(laterErrors(error)).toEqual([full]);
  expect(await leasedRuns(lake)).toEqual(new Map());
});

test("a file in the place of the spool stops the run, whose report names it and says what to do", async () => {
  const bars = {
    timestamp: [Date.parse("2024-01-07T16:00:00Z")],
    open: [1],
    high: [1],
    low: [1],
    close: [1],
  };
  const block = (): void => writeFileSync(join(lake.location, "spool"), "");
  const { lake, client, clock } = await scriptedMarket((_seen, response) => {
    block();
    json(response, 200, { data: { "600519.SH": { ...bars, volume: [1], amount: [1] } } });
  }, NOW);
  const run = () => runPipeline(DAILY, { symbols: ["600519.SH"] }, { lake, client, clock });
  // It comes while the run waits for its first response; the next run finds it.
  for (const words of ["File exists", "Not a directory"]) {
    const { status, stopped } = await run();
    const said = `file ${lake.location}/spool could not be written: ${words}; it is a file, and a folder is needed: move it away; what was committed remains, and nothing half-done is visible: once that is repaired, run the command again`;
    expect([status, stopped]).toEqual(["failed", said]);
  }
  rmSync(join(lake.location, "spool"));
});

test("a symbol of an exchange that is not known is refused before anything is sent", async () => {
  const { lake, client, clock, service } = await scriptedMarket(
    (_seen, response) => json(response, 200, {}),
    NOW,
  );
  await expect(
    runPipeline(DAILY, { symbols: ["600519.SH", "AAPL.XX"] }, { lake, client, clock }),
  ).rejects.toThrow("symbol AAPL.XX: its exchange is not known");
  expect(service.seen).toEqual([]);
});

import { expect, test } from "vitest";
import type { PipelineDefinition } from "../../src/jobs/pipeline/definition.js";
import { openReader } from "../../src/lake/publish.js";
import { barsOn, scriptedMarket } from "../jobs/scripted-market.js";
import { json, type Script } from "./scripted-service.js";

const DAY = 86_400_000;
const HONG_KONG = [0, 1, 2].map((n) => Date.parse("2024-01-07T16:00:00Z") + n * DAY);
const DAILY: PipelineDefinition = { name: "daily", kind: "bars", period: "1d", from: "2024-01-08" };

test("a symbol whose response never ends is a failure of the run, and the others land", async () => {
  let advance = (_ms: number): void => {};
  const script: Script = (seen, response) => {
    if (!seen.query.get("symbols")?.includes("600519.SH"))
      return json(response, 200, { data: barsOn(HONG_KONG, seen) });
    response.writeHead(200, { "content-type": "application/json" });
    response.write('{"data":{"600519.SH":{"timestamp":[1');
    const more = (): void => {
      if (response.destroyed) return;
      advance(1000);
      response.write("0", () => setImmediate(more));
    };
    more();
  };
  const { run, clock, lake } = await scriptedMarket(script, "2024-01-13T00:00:00Z");
  advance = (ms) => clock.advance(ms);
  const report = await run(DAILY, { symbols: ["600519.SH", "00700.HK"] });
  expect(report).toMatchObject({ status: "partial", requests: { sent: 2, answered: 1, failed: 1 } });
  expect(report.failures).toMatchObject([
    {
      symbols: 1,
      reason: expect.stringMatching(/response came at 60 s for \d+ bytes.*minimum is 1024 bytes/),
    },
  ]);
  const { session } = await openReader(lake, { threads: 1 });
  using reader = session;
  expect(await reader.json("SELECT symbol, count(*)::INT AS n FROM bars_1d GROUP BY symbol")).toEqual([
    { symbol: "00700.HK", n: 3 },
  ]);
});

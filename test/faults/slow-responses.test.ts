import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { expect, onTestFinished, test } from "vitest";
import type { PipelineDefinition } from "../../src/jobs/pipeline/definition.js";
import { barsOn, scriptedMarket } from "../jobs/scripted-market.js";
import { queryLake } from "../lake/temporary-lake.js";
import { json, type Script } from "./service/scripted-service.js";

const DAY = 86_400_000;
const HONG_KONG = [0, 1, 2].map((n) => Date.parse("2024-01-07T16:00:00Z") + n * DAY);
const DAILY: PipelineDefinition = { name: "daily", kind: "bars", period: "1d", from: "2024-01-08" };

const RECEIVED = "undici:request:bodyChunkReceived";

/** Calls a function whenever this process has received a piece of a body from a path that contains a text. */
function onReceived(text: string, call: () => void): void {
  const listener = (message: unknown): void => {
    if ((message as { readonly request: { readonly path: string } }).request.path.includes(text)) call();
  };
  subscribe(RECEIVED, listener);
  onTestFinished(() => void unsubscribe(RECEIVED, listener));
}

test("a symbol whose response never ends is a failure of the run, and the others land", async () => {
  let more = (): void => {};
  // The next second begins when the client has read the last piece: it must not get two at once.
  onReceived("600519.SH", () => setImmediate(() => more()));
  const script: Script = (seen, response) => {
    if (!seen.query.get("symbols")?.includes("600519.SH"))
      return json(response, 200, { data: barsOn(HONG_KONG, seen) });
    response.writeHead(200, { "content-type": "application/json" });
    response.write('{"data":{"600519.SH":{"timestamp":[1');
    more = () => {
      if (response.destroyed) return;
      clock.advance(1000);
      response.write("0");
    };
  };
  const { run, clock, lake } = await scriptedMarket(script, "2024-01-13T00:00:00Z");
  const report = await run(DAILY, { symbols: ["600519.SH", "00700.HK"] });
  expect(report).toMatchObject({ status: "partial", requests: { sent: 2, answered: 1, failed: 1 } });
  expect(report.failures).toMatchObject([
    {
      symbols: 1,
      reason: expect.stringMatching(/response came at 60 s for \d+ bytes.*minimum is 1024 bytes/),
    },
  ]);
  expect(await queryLake(lake, "SELECT symbol, count(*)::INT AS n FROM bars_1d GROUP BY symbol")).toEqual([
    { symbol: "00700.HK", n: 3 },
  ]);
});

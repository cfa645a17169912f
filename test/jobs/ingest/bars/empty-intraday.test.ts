import { expect, test } from "vitest";
import type { PipelineDefinition } from "../../../../src/jobs/pipeline/definition.js";
import { json } from "../../../faults/service/scripted-service.js";
import { barsAt, minutes } from "../../minute-market.js";
import { type Bars, scriptedMarket } from "../../scripted-market.js";

const INTRADAY: PipelineDefinition = { name: "intraday", kind: "intraday", universes: ["KNOWN"] };
const UNIVERSE = { id: "KNOWN", name: "Known", category: "test", region: "CN" };
/** The bars of Friday 2024-01-12 in Shanghai. */
const DAY = barsAt(minutes([Date.parse("2024-01-12T00:00:00+08:00")]));

/** A lake after the session, which knows a universe; its minutes are what `minutesOf` gives at the time of a request. */
async function knownUniverse(symbols: readonly string[], minutesOf: () => Readonly<Record<string, Bars>>) {
  const universe = { ...UNIVERSE, symbol_count: symbols.length };
  const responses: Readonly<Record<string, () => unknown>> = {
    "/v1/exchanges": () => [],
    "/v1/universes": () => [universe],
    "/v1/universes/batch": () => ({ KNOWN: { ...universe, symbols } }),
    "/v1/klines/intraday/universe": minutesOf,
  };
  const market = await scriptedMarket(
    ({ path }, response) => json(response, 200, { data: responses[path]?.() }),
    "2024-01-12T12:00:00Z",
  );
  await market.run({ name: "reference", kind: "reference" });
  return market;
}

test("an empty response about a universe that has members: the run is partial, and the next one requests it again", async () => {
  let data: Readonly<Record<string, Bars>> = {};
  const { run } = await knownUniverse(["600519.SH", "000001.SZ"], () => data);
  expect(await run(INTRADAY)).toMatchObject({
    status: "partial",
    failures: [
      { reason: expect.stringMatching(/^universe KNOWN: the service gave nothing for its 2 members/) },
    ],
  });
  data = { "600519.SH": DAY, "000001.SZ": DAY };
  expect(await run(INTRADAY)).toMatchObject({ status: "complete", requests: { sent: 1 }, rows: 480 });
  expect(await run(INTRADAY)).toMatchObject({ status: "complete", requests: { sent: 0 } });
});

test("members that the response lacks are in the report", async () => {
  const { run } = await knownUniverse(["600519.SH", "000001.SZ", "601398.SH"], () => ({ "600519.SH": DAY }));
  expect((await run(INTRADAY)).completeness).toMatchObject([
    {
      dataset: "bars_1m",
      asked: { symbols: 3, sessions: 3 },
      received: { bars: 240 },
      absent: [{ reason: "others_came", symbols: 2, sessions: 2 }],
    },
  ]);
});

test("a universe of a region without minutes is complete without a bar", async () => {
  const { run } = await knownUniverse(["AAPL.US"], () => ({}));
  expect(await run(INTRADAY)).toMatchObject({ status: "complete", failures: [] });
});

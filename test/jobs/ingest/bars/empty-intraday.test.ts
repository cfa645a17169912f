import { expect, test } from "vitest";
import { DAY_MS } from "../../../../src/core/time.js";
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

test("a universe of which nothing came in three sessions has no minutes at the service, which is asked rarely, and not for nothing", async () => {
  let data: Readonly<Record<string, Bars>> = {};
  const { run, clock, service } = await knownUniverse(["IF2401.CFX", "IF2402.CFX"], () => data);
  const partial = { status: "partial", failures: [{ reason: expect.stringContaining("gave nothing") }] };
  expect(await run(INTRADAY)).toMatchObject(partial);
  // Saturday, with the session of Friday.
  clock.advance(DAY_MS);
  expect(await run(INTRADAY)).toMatchObject(partial);
  clock.advance(2 * DAY_MS);
  expect(await run(INTRADAY)).toMatchObject(partial);
  clock.advance(DAY_MS);
  expect(await run(INTRADAY)).toMatchObject({
    status: "complete",
    failures: [],
    completeness: [
      {
        dataset: "bars_1m",
        asked: { symbols: 2 },
        absent: [{ reason: "no_minutes", symbols: 2, sessions: 2 }],
      },
    ],
  });
  const asked = (): number => service.seen.filter(({ path }) => path.includes("intraday")).length;
  const days: number[] = [];
  for (let day = 1; day <= 40; day++) {
    clock.advance(DAY_MS);
    const before = asked();
    expect(await run(INTRADAY)).toMatchObject({ status: "complete" });
    if (asked() > before) days.push(day);
  }
  // After waits of at least 1, 2, 4, 8 and 16 days, and at the next session.
  expect(days).toEqual([1, 3, 7, 15, 31]);
  clock.advance(30 * DAY_MS);
  data = { "IF2401.CFX": DAY, "IF2402.CFX": DAY };
  expect((await run(INTRADAY)).rows).toBe(480);
  clock.advance(DAY_MS);
  data = {};
  expect(await run(INTRADAY)).toMatchObject(partial);
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

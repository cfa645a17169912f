import { describe, expect, test } from "vitest";
import { DAY_MS } from "../../../../src/core/time.js";
import { hasNoMinutes } from "../../../../src/jobs/ingest/bars/ingest-intraday.js";
import type { PipelineDefinition } from "../../../../src/jobs/pipeline/definition.js";
import type { Lake } from "../../../../src/lake/lake.js";
import { landTradingDays } from "../../../../src/lake/land/trading-days.js";
import { localDate } from "../../../../src/market/zone.js";
import { BARS_1D, BARS_1M } from "../../../../src/schema/bars.js";
import { json } from "../../../faults/service/scripted-service.js";
import { land, openSession } from "../../../lake/temporary-lake.js";
import { barsAt, minutes, weekdays } from "../../minute-market.js";
import { type Bars, scriptedMarket } from "../../scripted-market.js";

const INTRADAY: PipelineDefinition = { name: "intraday", kind: "intraday", universes: ["KNOWN"] };
const UNIVERSE = { id: "KNOWN", name: "Known", category: "test", region: "CN" };
/** The bars of Friday 2024-01-12 in Shanghai. */
const DAY = barsAt(minutes([Date.parse("2024-01-12T00:00:00+08:00")]));

/**
 * A lake after the session, which knows a universe; its minutes are what `minutesOf` gives at the time of a request.
 */
async function knownUniverse(
  symbols: readonly string[],
  minutesOf: (id: string) => Readonly<Record<string, Bars>>,
) {
  const universe = { ...UNIVERSE, symbol_count: symbols.length };
  const responses: Readonly<Record<string, (id: string) => unknown>> = {
    "/v1/exchanges": () => [],
    "/v1/universes": () => [universe],
    "/v1/universes/batch": () => ({ KNOWN: { ...universe, symbols } }),
    "/v1/klines/intraday/universe": minutesOf,
  };
  const market = await scriptedMarket(
    ({ path, query }, response) =>
      json(response, 200, { data: responses[path]?.(query.get("universes") ?? "") }),
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

const PARTIAL = { status: "partial", failures: [{ reason: expect.stringContaining("gave nothing") }] };
const ABSENT = (symbols: number) => ({ reason: "unavailable", symbols });

const NO_MINUTES = {
  status: "complete",
  failures: [],
  requests: { sent: 1 },
  completeness: [
    {
      dataset: "bars_1m",
      asked: { symbols: 2 },
      absent: [{ reason: "unavailable", symbols: 2, sessions: 2 }],
    },
  ],
};

describe("a universe of which nothing came in three sessions", () => {
  const FUNDS = ["510050.SH", "510300.SH"];

  /** Lands daily bars of the index on weekdays, so that the lake knows these sessions. */
  async function landSessions({ lake }: { readonly lake: Lake }, first: string, end: string): Promise<void> {
    const session = await openSession();
    const bars = weekdays(first, end).map((at) => ({ symbol: "000001.SH", at }));
    await land(session, lake, BARS_1D, bars);
    const now = Date.parse(`${end}T12:00:00Z`);
    await landTradingDays(session, lake, { operation: "TEST", runId: "test", now });
  }

  test("has no minutes at the service, which is requested by each run: no bar is missed when it has them", async () => {
    let data: Readonly<Record<string, Bars>> = {};
    const market = await knownUniverse(FUNDS, () => data);
    const { run, clock } = market;
    await landSessions(market, "2024-01-08", "2024-01-17");
    expect(await run(INTRADAY)).toMatchObject(PARTIAL);
    // Saturday, with the session of Friday.
    clock.advance(DAY_MS);
    expect(await run(INTRADAY)).toMatchObject(PARTIAL);
    clock.advance(2 * DAY_MS);
    expect(await run(INTRADAY)).toMatchObject(PARTIAL);
    clock.advance(DAY_MS);
    for (let day = 1; day <= 2; day++) {
      expect(await run(INTRADAY)).toMatchObject(NO_MINUTES);
      // Bars may come later on the same day.
      expect(await run(INTRADAY)).toMatchObject(NO_MINUTES);
      clock.advance(DAY_MS);
    }
    data = { "510050.SH": DAY, "510300.SH": DAY };
    expect((await run(INTRADAY)).rows).toBe(480);
    clock.advance(DAY_MS);
    data = {};
    expect(await run(INTRADAY)).toMatchObject(PARTIAL);
  });

  test("is partial each time while another universe of the same run brings minutes of a member", async () => {
    let data: Readonly<Record<string, Bars>> = {};
    const market = await knownUniverse(FUNDS, (id) => (id === "OTHER" ? data : {}));
    const { run, clock } = market;
    await landSessions(market, "2024-01-08", "2024-01-20");
    for (let day = 1; day <= 4; day++) {
      await run(INTRADAY);
      clock.advance(DAY_MS);
    }
    data = { "510300.SH": DAY };
    const both = { ...INTRADAY, universes: ["KNOWN", "OTHER"] };
    expect(await run(both)).toMatchObject({ ...PARTIAL, rows: 240 });
  });
});

const KNOWN = weekdays("2024-01-08", "2024-01-17");
const AFTER_HOLIDAY = [...weekdays("2024-01-08", "2024-01-13"), ...weekdays("2024-01-25", "2024-01-27")];
const CHINESE = ["510050.SH", "510300.SH"];

test.each<
  [what: string, days: number[], members: string[], have: string[], sessions: number[], expected: boolean]
>([
  ["two sessions, and a Saturday", [12, 13, 15], CHINESE, [], KNOWN, false],
  ["three sessions", [12, 13, 15, 16], CHINESE, [], KNOWN, true],
  ["three sessions, and a minute of a member", [12, 15, 16, 17], CHINESE, ["510300.SH"], KNOWN, false],
  [
    "three, and a minute of a member elsewhere",
    [12, 15, 16],
    [...CHINESE, "AAPL.US"],
    ["AAPL.US"],
    KNOWN,
    true,
  ],
  ["weekdays that may be a holiday", [12, 15, 16, 17, 18], CHINESE, [], AFTER_HOLIDAY.slice(0, 5), false],
  ["a holiday, and the session after it", [12, 15, 16, 17, 18, 25], CHINESE, [], AFTER_HOLIDAY, false],
  ["a holiday, and two sessions after it", [12, 15, 16, 17, 18, 25, 26], CHINESE, [], AFTER_HOLIDAY, true],
  ["once, of no member of China", [12], ["00700.HK", "AAPL.US"], [], KNOWN, true],
  ["once, of none, and a minute of one", [12], ["00700.HK", "AAPL.US"], ["AAPL.US"], KNOWN, false],
])("nothing of a universe in %s", (_, days, members, have, sessions, expected) => {
  const times = days.map((day) => Date.parse(`2024-01-${day}T12:00:00Z`));
  const dates = sessions.map((at) => localDate(at, "Asia/Shanghai"));
  expect(hasNoMinutes({ members, times }, new Set(have), dates)).toBe(expected);
});

test("members of regions of which services may have no minutes are in the report, too", async () => {
  const none = await knownUniverse(["00700.HK", "AAPL.US"], () => ({}));
  expect(await none.run(INTRADAY)).toMatchObject({ ...NO_MINUTES, completeness: [{ absent: [ABSENT(2)] }] });
  const some = await knownUniverse(["600519.SH", "AAPL.US"], () => ({ "600519.SH": DAY }));
  expect(await some.run(INTRADAY)).toMatchObject({
    status: "complete",
    completeness: [{ asked: { symbols: 2 }, absent: [ABSENT(1)] }],
  });
  await land(await openSession(), some.lake, BARS_1M, [{ symbol: "AAPL.US", at: "2024-01-04T15:00:00Z" }]);
  some.clock.advance(3 * DAY_MS);
  expect(await some.run(INTRADAY)).toMatchObject({
    completeness: [{ absent: [{ reason: "others_came", symbols: 1 }] }],
  });
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

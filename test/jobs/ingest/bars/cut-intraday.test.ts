import { expect, test } from "vitest";
import type { PipelineDefinition } from "../../../../src/jobs/pipeline/definition.js";
import { json } from "../../../faults/service/scripted-service.js";
import { queryLake } from "../../../lake/temporary-lake.js";
import { barsAt, minutes } from "../../minute-market.js";
import { type Bars, scriptedMarket } from "../../scripted-market.js";

const INTRADAY: PipelineDefinition = { name: "intraday", kind: "intraday", universes: ["KNOWN"] };
/** The bars of Friday 2024-01-12 in Shanghai, whose session is over. */
const DAY = minutes([Date.parse("2024-01-12T00:00:00+08:00")]);
const NOW = "2024-01-12T12:00:00Z";

/** A run of the day's minutes, of which the service gives these of each symbol. */
async function asked(data: Readonly<Record<string, Bars>>) {
  const market = await scriptedMarket((_, response) => json(response, 200, { data }), NOW);
  return { lake: market.lake, report: await market.run(INTRADAY) };
}

test("a day of which every symbol has equally many bars, and none its first ones, makes the run partial", async () => {
  const newest = barsAt(DAY.slice(-100));
  const { lake, report } = await asked({ "600519.SH": newest, "000001.SZ": newest, "601398.SH": barsAt([]) });
  expect(report).toMatchObject({ status: "partial", rows: 200 });
  expect(report.failures).toMatchObject([
    {
      reason: expect.stringMatching(
        /^universe KNOWN: 2 symbols have 100 bars each, and none before 2024-01-12T05:21:00.000Z: .*pipeline minute/,
      ),
    },
  ]);
  expect(await queryLake(lake, "SELECT count(*)::INT AS n FROM bars_1m")).toEqual([{ n: 200 }]);
});

test("a whole day is complete, also where single symbols lack bars", async () => {
  const whole = barsAt(DAY);
  for (const data of [
    { "600519.SH": whole, "000001.SZ": whole, "601398.SH": barsAt(DAY.slice(-100)) },
    // One symbol alone may have begun to trade late.
    { "600519.SH": barsAt(DAY.slice(-100)) },
    { "600519.SH": whole, "000001.SZ": barsAt(DAY.slice(1)) },
  ] as Record<string, Bars>[])
    expect((await asked(data)).report).toMatchObject({ status: "complete", failures: [] });
});

test.each([
  ["five minutes", DAY.filter((_, n) => n % 5 === 0)],
  ["the day", [DAY[0] as number].map((ms) => ms - ((ms + 8 * 3_600_000) % 86_400_000))],
])(
  "bars of another period, %s, do not land as minutes, and those of the other symbols do",
  async (_, times) => {
    const market = await scriptedMarket(
      (_request, response) =>
        json(response, 200, { data: { "600519.SH": barsAt(times), "000001.SZ": barsAt(DAY) } }),
      NOW,
    );
    expect(await market.run(INTRADAY)).toMatchObject({
      status: "partial",
      rows: DAY.length,
      failures: [
        {
          reason:
            "universe KNOWN: symbols with bars of another period than 1m (1), such as 600519.SH: these bars were set aside",
        },
      ],
    });
    const landed = "SELECT DISTINCT symbol FROM bars_1m";
    expect(await queryLake(market.lake, landed)).toEqual([{ symbol: "000001.SZ" }]);
    // The next run requests the universe again.
    expect(await market.run(INTRADAY)).toMatchObject({ requests: { sent: 1 } });
  },
);

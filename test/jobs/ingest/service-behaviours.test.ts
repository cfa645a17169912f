import { expect, test } from "vitest";
import type { PipelineDefinition } from "../../../src/jobs/pipeline/definition.js";
import { html, json, type Script, type Seen } from "../../faults/service/scripted-service.js";
import { queryLake } from "../../lake/temporary-lake.js";
import { weekdays } from "../minute-market.js";
import { type Bars, barsOn, scriptedMarket } from "../scripted-market.js";

/** What services were seen to do, one by one; the tests of this folder have the same in detail. */

const DAYS = weekdays("2023-01-02", "2024-01-13");
const DAILY: PipelineDefinition = {
  name: "daily",
  kind: "bars",
  period: "1d",
  from: "2023-01-02",
  lookback: "3d",
};
/** Twelve symbols: as many as are needed to recognise a day without a session. */
const SYMBOLS = Array.from({ length: 12 }, (_, n) => `${600_000 + n}.SH`);
/** A Saturday, after the last session. */
const NOW = "2024-01-13T04:00:00Z";

/** The newest bars of each symbol, at most `cap`; 100 where the request names no number. */
function newest(seen: Seen, cap = 10_000, days: readonly number[] = DAYS): Record<string, Bars> {
  const most = Math.min(cap, Number(seen.query.get("count") ?? 100));
  const cut = ([symbol, bars]: [string, Bars]): [string, Bars] => [
    symbol,
    Object.fromEntries(Object.entries(bars).map(([name, values]) => [name, values.slice(-most)])),
  ];
  return Object.fromEntries(Object.entries(barsOn(days, seen)).map(cut));
}

const giving =
  (bars: (seen: Seen, index: number) => unknown): Script =>
  (seen, response, index) =>
    json(response, 200, { data: bars(seen, index) });

const HELD = "SELECT count(*)::INT AS bars, count(DISTINCT symbol)::INT AS symbols FROM bars_1d";
const ALL = [{ bars: DAYS.length * SYMBOLS.length, symbols: SYMBOLS.length }];

test.each<[string, Script]>([
  ["gives the newest 100 bars where no count is named", giving((seen) => newest(seen))],
  [
    "gives fewer bars from one response to the next",
    giving((seen, index) => newest(seen, index < 2 ? 200 : 90)),
  ],
  ["has nothing for all symbols at first", giving((seen, index) => (index === 0 ? {} : newest(seen)))],
  [
    "gives another symbol at first",
    giving((seen, index) =>
      index === 0 ? { "000001.SZ": barsOn(DAYS, seen)[SYMBOLS[0] as string] } : newest(seen),
    ),
  ],
  [
    "refuses more than five symbols",
    (seen, response) =>
      (seen.query.get("symbols") ?? "").split(",").length > 5
        ? json(response, 400, { code: "INVALID_PARAMETER", message: "too many symbols: at most 5" })
        : json(response, 200, { data: newest(seen) }),
  ],
  [
    "is over its quota for 44 milliseconds, again and again",
    (seen, response, index) =>
      index % 2 === 0
        ? json(response, 429, { code: "RATE_LIMITED", message: "wait 44ms" })
        : json(response, 200, { data: newest(seen) }),
  ],
  [
    "writes whole numbers with a fraction of zero",
    (seen, response) => {
      const text = JSON.stringify({ data: newest(seen) });
      response.writeHead(200, { "content-type": "application/json" });
      response.end(
        text.replaceAll(/(?<="(?:open|high|low|close|amount)":\[)[^\]]*/g, (list) =>
          list.replaceAll(/\d+/g, "$&.0"),
        ),
      );
    },
  ],
])("a service that %s: the run is complete, and has every bar", async (_, script) => {
  const { run, lake } = await scriptedMarket(script, NOW);
  expect(await run(DAILY, { symbols: SYMBOLS })).toMatchObject({ status: "complete", failures: [] });
  expect(await queryLake(lake, HELD)).toEqual(ALL);
});

test("a page of a proxy with status 200 is a failure, and the next run has every bar", async () => {
  let isUp = false;
  const { run, lake } = await scriptedMarket(
    (seen, response) => (isUp ? json(response, 200, { data: newest(seen) }) : html(response, 200)),
    NOW,
  );
  expect(await run(DAILY, { symbols: SYMBOLS })).toMatchObject({
    status: "failed",
    failures: [{ symbols: 12 }],
  });
  isUp = true;
  expect(await run(DAILY, { symbols: SYMBOLS })).toMatchObject({ status: "complete" });
  expect(await queryLake(lake, HELD)).toEqual(ALL);
});

test("a day that is published later than usual is listed, and lookback requests it again", async () => {
  let published = DAYS.slice(0, -1);
  const { run, lake, clock } = await scriptedMarket(
    giving((seen) => newest(seen, 10_000, published)),
    "2024-01-12T09:30:00Z",
  );
  const first = await run(DAILY, { symbols: SYMBOLS });
  expect(first.completeness).toMatchObject([
    { absent: [{ reason: "no_session", symbols: 12, sessions: 12 }] },
  ]);
  published = DAYS;
  clock.advance(24 * 3_600_000);
  expect(await run(DAILY, { symbols: SYMBOLS })).toMatchObject({ status: "complete" });
  expect(await queryLake(lake, HELD)).toEqual(ALL);
});

test("suspended days as bars with prices of 0, or without a bar, are both read", async () => {
  const [zero, absent] = [DAYS.at(-2) as number, DAYS.at(-3) as number];
  const { run, lake } = await scriptedMarket(
    giving((seen) => {
      const data = barsOn(
        DAYS.filter((day) => day !== absent),
        seen,
      );
      for (const bars of Object.values(data)) {
        const at = (bars.timestamp as number[]).indexOf(zero);
        for (const name of at < 0 ? [] : ["open", "high", "low", "volume", "amount"])
          (bars[name] as number[])[at] = 0;
      }
      return data;
    }),
    NOW,
  );
  const report = await run(DAILY, { symbols: SYMBOLS.slice(0, 2) });
  expect(report).toMatchObject({ status: "complete", rejected: [] });
  expect(report.completeness).toMatchObject([{ absent: [{ reason: "no_bar", sessions: 2 }] }]);
  expect(
    await queryLake(lake, "SELECT DISTINCT open, close, volume FROM raw.bars_1d WHERE volume = 0"),
  ).toEqual([{ open: 0, close: 10, volume: 0n }]);
});

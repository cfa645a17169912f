import { expect, test } from "vitest";
import {
  checkSample,
  type SampleReport,
  type SampleSize,
} from "../../../src/jobs/maintenance/check-sample.js";
import type { PipelineDefinition } from "../../../src/jobs/pipeline/definition.js";
import { json, type Script, type Seen } from "../../faults/service/scripted-service.js";
import { type Bars, barsOn, scriptedMarket } from "../scripted-market.js";

const DAILY: PipelineDefinition = { name: "daily", kind: "bars", period: "1d", from: "2024-01-01" };
const SYMBOLS = ["600519.SH", "601398.SH"];

/** Trading dates 2024-01-10 to 12 in Shanghai. */
const DAYS = ["2024-01-09", "2024-01-10", "2024-01-11"].map((date) => Date.parse(`${date}T16:00:00Z`));

const right: Script = (seen, response) => json(response, 200, { data: barsOn(DAYS, seen) });

/** The service's bars, except for one symbol. */
function otherwise(seen: Seen, symbol: string, change: (bars: Bars) => Bars): object {
  const bars = barsOn(DAYS, seen);
  const own = bars[symbol];
  return own === undefined ? bars : { ...bars, [symbol]: change(structuredClone(own)) };
}

async function ingested() {
  const market = await scriptedMarket(right, "2024-01-13T00:00:00Z");
  await market.run(DAILY, { symbols: SYMBOLS });
  const { lake, client, clock } = market;
  const sample = (size: SampleSize, signal = new AbortController().signal): Promise<SampleReport> =>
    checkSample({ lake, client, clock, signal }, size);
  return { ...market, sample };
}

test("a service that returns the same again: all bars are equal, and nothing changes", async () => {
  const { lake, service, sample } = await ingested();
  const versions = (await lake.snapshots()).map(({ version }) => version);
  const { tables, deviations, failures } = await sample({ part: 1 });
  const none = { changed: 0, gone: 0, new: 0 };
  expect(tables).toEqual([
    { table: "bars_1d", answered: 1, asked: 1, bars: 6, counts: none },
    { table: "bars_1m", answered: 0, asked: 0, bars: 0, counts: none },
  ]);
  expect([deviations, failures]).toEqual([[], []]);
  expect((await lake.snapshots()).map(({ version }) => version)).toEqual(versions);
  const [first, second] = service.seen;
  expect(second?.query.get("symbols")).toBe(first?.query.get("symbols"));
});

test("what the service returns otherwise is named: what changed, what is gone, what is new", async () => {
  const { service, sample } = await ingested();
  service.script = (seen, response) => {
    const data = otherwise(seen, "601398.SH", (bars) => {
      const { timestamp = [], close = [] } = bars;
      return {
        ...bars,
        timestamp: [...timestamp.slice(0, 1), (timestamp[1] as number) + 1, ...timestamp.slice(2)],
        close: [10, 10, ...close.slice(2).map(() => 9.5)],
        low: [10, 10, 9.5],
      };
    });
    json(response, 200, { data });
  };
  const { tables, deviations } = await sample({ requests: 5 });
  expect(tables[0]).toMatchObject({ asked: 1, bars: 7, counts: { changed: 1, gone: 1, new: 1 } });
  const [gone, fresh, changed] = deviations;
  expect(deviations).toHaveLength(3);
  expect(gone).toMatchObject({ table: "bars_1d", symbol: "601398.SH", kind: "gone", values: [] });
  expect(fresh).toMatchObject({ symbol: "601398.SH", kind: "new", values: [] });
  expect(changed).toMatchObject({
    timestamp: "2024-01-11T16:00:00.000Z",
    kind: "changed",
    values: [
      { column: "low", lake: "10.0", service: "9.5" },
      { column: "close", lake: "10.0", service: "9.5" },
    ],
  });
});

test("a part of what was answered is asked for: of few requests at least one", async () => {
  const { run, sample } = await ingested();
  for (const symbol of ["600000.SH", "600004.SH", "600006.SH"]) await run(DAILY, { symbols: [symbol] });
  expect((await sample({ part: 0.01 })).tables[0]).toMatchObject({ answered: 4, asked: 1 });
  expect((await sample({ part: 0.5 })).tables[0]).toMatchObject({ answered: 4, asked: 2 });
});

test("a request that fails is reported and others go on; a key that is refused is not tried again", async () => {
  const { service, run, sample } = await ingested();
  await run(DAILY, { symbols: ["600000.SH"] });
  let asked = 0;
  service.script = (seen, response, index) =>
    asked++ === 0 ? json(response, 500, "{}") : right(seen, response, index);
  const { tables, failures } = await sample({ part: 1 });
  expect(tables[0]).toMatchObject({ asked: 2, counts: { changed: 0, gone: 0, new: 0 } });
  expect(failures).toEqual([expect.stringContaining("500")]);
  service.script = (_, response) => json(response, 403, { code: "FORBIDDEN", message: "no" });
  expect(await sample({ part: 1 })).toMatchObject({ tables: [{ asked: 1 }, { asked: 0 }] });
});

test("a symbol whose columns do not fit together is not compared", async () => {
  const { service, sample } = await ingested();
  service.script = (seen, response) => {
    const data = otherwise(seen, "601398.SH", (bars) => ({ ...bars, close: [1] }));
    json(response, 200, { data });
  };
  expect((await sample({ part: 1 })).tables[0]).toMatchObject({ bars: 3, counts: { gone: 0 } });
});

import { expect, test } from "vitest";
import type { PipelineDefinition } from "../../../../src/jobs/pipeline/definition.js";
import { json, type Script, type Seen } from "../../../faults/service/scripted-service.js";
import { queryLake } from "../../../lake/temporary-lake.js";
import { newestBars, weekdays } from "../../minute-market.js";
import { scriptedMarket } from "../../scripted-market.js";

const DAY = 86_400_000;
const DAYS = weekdays("2024-01-01", "2024-02-03");
/** The time at which the days before the last one are final, and the last one is not. */
const BEFORE_LAST = "2024-02-02T00:00:00Z";
const DAILY: PipelineDefinition = { name: "daily", kind: "bars", period: "1d", from: "2024-01-01" };
const SYMBOLS = Array.from({ length: 12 }, (_, n) => `${600_000 + n}.SH`);

const EMPTY: Script = (_, response) => json(response, 200, { data: {} });

/** A service that has bars on all days for all symbols but some. */
function without(lacks: (symbol: string) => boolean = () => false, days = DAYS): Script {
  return (seen, response) => {
    const market = Object.fromEntries(symbolsOf(seen).map((symbol) => [symbol, lacks(symbol) ? [] : days]));
    json(response, 200, { data: newestBars(seen, market) });
  };
}

function symbolsOf({ query }: Seen): string[] {
  return (query.get("symbols") ?? "").split(",");
}

/** A market with a lake that has the bars of some symbols before the last day, or before an earlier time. */
async function marketWith(symbols: readonly string[], at = BEFORE_LAST) {
  const past = DAYS.filter((day) => day + DAY <= Date.parse(at));
  const market = await scriptedMarket(
    without(() => false, past),
    at,
  );
  await market.run(DAILY, { symbols: [...symbols] });
  const count = async (): Promise<number> => {
    const [row] = await queryLake<{ n: number }>(market.lake, "SELECT count(*)::INT AS n FROM bars_1d");
    return row?.n ?? 0;
  };
  return { ...market, count };
}

test("a night in which only empty maps come is no holiday where days are asked for again: the next run has the day", async () => {
  const { service, clock, run, count } = await marketWith(SYMBOLS);
  const night = { symbols: SYMBOLS, lookbackDays: 3 };
  clock.advance(DAY);
  service.script = EMPTY;
  const faulty = await run(DAILY, night);
  expect(faulty).toMatchObject({ status: "partial", requests: { sent: 2 } });
  expect(faulty.completeness[0]?.unexplained).toHaveLength(12);
  expect(await count()).toBe(12 * (DAYS.length - 1));
  clock.advance(1000);
  service.script = without();
  expect(await run(DAILY, night)).toMatchObject({ status: "complete", requests: { sent: 1 } });
  expect(await count()).toBe(12 * DAYS.length);
});

test("after two weeks without a run, empty maps are no holiday and no suspension of many symbols", async () => {
  const { service, clock, run, count } = await marketWith(SYMBOLS, "2024-01-20T00:00:00Z");
  clock.advance(14 * DAY);
  service.script = EMPTY;
  expect(await run(DAILY, { symbols: SYMBOLS })).toMatchObject({ status: "partial" });
  clock.advance(1000);
  service.script = without();
  expect(await run(DAILY, { symbols: SYMBOLS })).toMatchObject({ status: "complete" });
  expect(await count()).toBe(12 * DAYS.length);
});

test("a day is no holiday for some symbols if others have bars that landed in the same run", async () => {
  const symbols = Array.from({ length: 24 }, (_, n) => `${600_000 + n}.SH`);
  const late = symbols.slice(12);
  const { service, clock, run, count } = await marketWith(symbols);
  const known = { symbolsPerRequest: { klines: 12 } };
  clock.advance(DAY);
  service.script = without((symbol) => late.includes(symbol));
  const faulty = await run(DAILY, { symbols }, undefined, known);
  expect(faulty).toMatchObject({ status: "partial", requests: { sent: 3 } });
  expect(faulty.completeness[0]?.unexplained.map(({ symbol }) => symbol)).toEqual(late);
  clock.advance(1000);
  service.script = without();
  expect(await run(DAILY, { symbols }, undefined, known)).toMatchObject({ status: "complete" });
  expect(await count()).toBe(24 * DAYS.length);
});

test("a few symbols that traded before are taken for suspended, also on a session", async () => {
  const { service, clock, run } = await marketWith(SYMBOLS);
  clock.advance(DAY);
  service.script = without();
  await run(DAILY, { symbols: SYMBOLS.slice(0, 3) });
  service.script = EMPTY;
  const report = await run(DAILY, { symbols: SYMBOLS.slice(3) });
  expect(report).toMatchObject({ status: "complete", requests: { sent: 2 } });
  expect(report.completeness[0]?.absent).toEqual([{ reason: "suspended", symbols: 9, sessions: 9 }]);
});

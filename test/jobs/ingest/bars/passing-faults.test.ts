import { expect, test } from "vitest";
import type { PipelineDefinition } from "../../../../src/jobs/pipeline/definition.js";
import { json, type Script, type Seen } from "../../../faults/service/scripted-service.js";
import { queryLake } from "../../../lake/temporary-lake.js";
import { newestBars, weekdays } from "../../minute-market.js";
import { filledMarket, scriptedMarket } from "../../scripted-market.js";

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
  const market = await filledMarket(
    without(() => false, past),
    at,
    { filledBy: import.meta.url, name: `${symbols.length} until ${at}` },
    (run) => run(DAILY, { symbols: [...symbols] }),
  );
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

const HUNDRED = Array.from({ length: 100 }, (_, n) => `${600_000 + n}.SH`);
const FORTY = HUNDRED.slice(30, 70);

test("the absence of a symbol that did not trade on the days before is believed, at no request", async () => {
  const gone = SYMBOLS[4] as string;
  const { service, clock, run } = await scriptedMarket((seen, response) => {
    const ended = DAYS.slice(0, -4);
    const market = symbolsOf(seen).map((symbol) => [symbol, symbol === gone ? ended : DAYS.slice(0, -1)]);
    json(response, 200, { data: newestBars(seen, Object.fromEntries(market)) });
  }, BEFORE_LAST);
  await run(DAILY, { symbols: SYMBOLS });
  clock.advance(DAY);
  service.script = without((symbol) => symbol === gone);
  const report = await run(DAILY, { symbols: SYMBOLS });
  expect(report).toMatchObject({ status: "complete", requests: { sent: 1 } });
  expect(report.completeness[0]?.absent).toEqual([{ reason: "others_came", symbols: 1, sessions: 1 }]);
});

test("a symbol that the service no longer has in the days of the lookback is suspended, and its bars are withdrawn", async () => {
  const { service, clock, run } = await marketWith(SYMBOLS);
  clock.advance(DAY);
  const gone = SYMBOLS[4] as string;
  service.script = without((symbol) => symbol === gone);
  const report = await run(DAILY, { symbols: SYMBOLS, lookbackDays: 3 });
  expect(report).toMatchObject({ status: "complete", requests: { sent: 2 } });
  expect(report.completeness[0]?.absent).toMatchObject([{ reason: "suspended", symbols: 1 }]);
  expect(report.completeness[0]?.withdrawn).toMatchObject([{ symbol: gone }]);
});

test("while a session runs, a symbol without a bar yet is not asked for again", async () => {
  const { service, clock, run } = await marketWith(SYMBOLS, "2024-02-02T01:00:00Z");
  clock.advance(3_600_000);
  service.script = without((symbol) => symbol === SYMBOLS[4]);
  expect(await run(DAILY, { symbols: SYMBOLS })).toMatchObject({ status: "complete", requests: { sent: 1 } });
});

test("many symbols that the first response after a holiday lacks are asked for once more", async () => {
  const { service, clock, run, count } = await marketWith(HUNDRED, "2024-01-27T00:00:00Z");
  const past = DAYS.filter((day) => day < Date.parse("2024-01-26T00:00:00Z"));
  const days = [...past, DAYS.at(-1) as number];
  service.script = without(() => false, past);
  for (let night = 1; night < 7; night++) {
    clock.advance(DAY);
    await run(DAILY, { symbols: HUNDRED });
  }
  clock.advance(DAY);
  service.script = without((symbol) => FORTY.includes(symbol), days);
  const faulty = await run(DAILY, { symbols: HUNDRED });
  expect(faulty).toMatchObject({ status: "partial" });
  expect(faulty.completeness[0]?.unexplained.map(({ symbol }) => symbol)).toEqual(FORTY);
  clock.advance(1000);
  service.script = without(() => false, days);
  expect(await run(DAILY, { symbols: HUNDRED })).toMatchObject({ status: "complete" });
  expect(await count()).toBe(100 * days.length);
});

test("listed symbols of which the service never has a bar do not make each night partial, and are still requested", async () => {
  const symbols = Array.from({ length: 24 }, (_, n) => `${600_000 + n}.SH`);
  const bare = symbols.slice(12);
  const { service, clock, run, count } = await marketWith(symbols.slice(0, 12), "2024-01-16T00:00:00Z");
  const known = { symbolsPerRequest: { klines: 12 } };
  const night = async () => {
    clock.advance(DAY);
    return await run(DAILY, { symbols }, undefined, known);
  };
  service.script = without((symbol) => bare.includes(symbol));
  const nights: string[] = [];
  for (let n = 0; n < 7; n++) nights.push((await night()).status);
  expect(nights.slice(0, 3)).toEqual(["partial", "partial", "partial"]);
  expect(nights.slice(-2)).toEqual(["complete", "complete"]);
  expect(await count()).toBe(12 * (DAYS.length - 8));
  service.script = without();
  clock.advance(11 * DAY);
  await night();
  expect(await count()).toBe(24 * DAYS.length);
});

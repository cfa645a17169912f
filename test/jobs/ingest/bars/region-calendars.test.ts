import { expect, test } from "vitest";
import type { TradingDate } from "../../../../src/core/time.js";
import { Session } from "../../../../src/db/session/session.js";
import { regionCalendars } from "../../../../src/jobs/ingest/bars/bars-demand.js";
import type { PipelineDefinition } from "../../../../src/jobs/pipeline/definition.js";
import { json, type Script } from "../../../faults/service/scripted-service.js";
import { barsOn, scriptedMarket } from "../../scripted-market.js";

const DAILY: PipelineDefinition = { name: "daily", kind: "bars", period: "1d", from: "2024-01-01" };
const SYMBOLS = Array.from({ length: 12 }, (_, n) => `${600_000 + n}.SH`);
/** Weekdays from 2024-01-08 to 19; the exchange is closed on the 16th. */
const WEEKDAYS = ["08", "09", "10", "11", "12", "15", "16", "17", "18", "19"].map((day) => `2024-01-${day}`);
const midnight = (date: string): number => Date.parse(`${date}T00:00:00+08:00`);
const DAYS = WEEKDAYS.filter((date) => date !== "2024-01-16").map(midnight);
const right: Script = (seen, response) => json(response, 200, { data: barsOn(DAYS, seen) });

async function openDays(market: Awaited<ReturnType<typeof scriptedMarket>>): Promise<string[]> {
  using session = await Session.open({ threads: 1 });
  const calendars = await regionCalendars(session, market.lake, market.clock.now());
  return WEEKDAYS.filter((date) => calendars.get("CN")?.isOpen(date as TradingDate));
}

test("a weekday that was asked for and has no bar is a holiday", async () => {
  const market = await scriptedMarket(right, "2024-01-20T00:00:00Z");
  expect(await openDays(market)).toEqual(WEEKDAYS);
  await market.run(DAILY, { symbols: SYMBOLS });
  expect(await openDays(market)).toEqual(WEEKDAYS.filter((date) => date !== "2024-01-16"));
});

test("a weekday that nobody asked for is none, however few there are: the next run asks for it", async () => {
  const market = await scriptedMarket(right, "2024-01-20T00:00:00Z");
  await market.run(DAILY, { symbols: SYMBOLS, to: "2024-01-11" });
  await market.run(DAILY, { symbols: SYMBOLS, from: "2024-01-17" });
  await market.run(DAILY, { symbols: SYMBOLS.slice(0, 1) });
  expect(await openDays(market)).toEqual(WEEKDAYS);
  const rest = await market.run(DAILY, { symbols: SYMBOLS });
  expect(rest).toMatchObject({ rows: 11 * 3, requests: { sent: 1 } });
  expect(await openDays(market)).toEqual(WEEKDAYS.filter((date) => date !== "2024-01-16"));
});

test("the days of the index are those of all symbols", async () => {
  const market = await scriptedMarket(right, "2024-01-20T00:00:00Z");
  await market.run(DAILY, { symbols: ["000001.SH"] });
  expect(await openDays(market)).toEqual(WEEKDAYS.filter((date) => date !== "2024-01-16"));
});

import { expect, test } from "vitest";
import type { PipelineDefinition } from "../../../../src/jobs/pipeline/definition.js";
import { json, type Script } from "../../../faults/service/scripted-service.js";
import { queryLake } from "../../../lake/temporary-lake.js";
import { minutes, newestBars, weekdays } from "../../minute-market.js";
import { barsOn, scriptedMarket } from "../../scripted-market.js";

const REFERENCE: PipelineDefinition = { name: "reference", kind: "reference" };
const DAILY: PipelineDefinition = { name: "daily", kind: "bars", period: "1d", from: "2023-10-01" };
const MINUTE: PipelineDefinition = { name: "minute", kind: "bars", period: "1m", from: "2023-10-01" };
/** More days than the minutes of one request contain. */
const DAYS = weekdays("2023-10-09", "2024-01-20");
const NOW = "2024-01-20T04:00:00Z";

/** A market whose instruments all have the same listing date. Their bars are on {@link DAYS}. */
function listedOn(listingDate: string): Script {
  return (seen, response) => {
    const instrument = {
      symbol: "600519.SH",
      code: "600519",
      exchange: "SH",
      region: "CN",
      name: "one",
      type: "stock",
      ext: { type: "cn_equity", listing_date: listingDate },
    };
    if (seen.path.endsWith("/exchanges"))
      return json(response, 200, { data: [{ exchange: "SH", region: "CN", count: 1 }] });
    if (seen.path.endsWith("/instruments")) return json(response, 200, { data: [instrument] });
    if (!seen.path.includes("klines")) return json(response, 200, { data: [] });
    const isDaily = seen.query.get("period") === "1d";
    return json(response, 200, {
      data: isDaily ? barsOn(DAYS, seen) : newestBars(seen, { "600519.SH": minutes(DAYS) }),
    });
  };
}

const DATES = (table: string) => `SELECT count(DISTINCT trade_date)::INT AS days FROM ${table}`;

test("bars before a listing date that is wrong are requested, minutes as well as days", async () => {
  const { run, lake } = await scriptedMarket(listedOn("2024-01-11"), NOW);
  await run(REFERENCE);
  expect(await run(DAILY)).toMatchObject({ status: "complete" });
  expect(await queryLake(lake, DATES("bars_1d"))).toEqual([{ days: DAYS.length }]);
  expect(await run(MINUTE)).toMatchObject({ status: "complete" });
  expect(await queryLake(lake, DATES("bars_1m"))).toEqual([{ days: DAYS.length }]);
});

test("so they are where a first run asked for later days only", async () => {
  const { run, lake } = await scriptedMarket(listedOn("2024-01-11"), NOW);
  await run(REFERENCE);
  await run(DAILY, { from: "2024-01-15" });
  expect(await run(DAILY)).toMatchObject({ status: "complete" });
  expect(await queryLake(lake, DATES("bars_1d"))).toEqual([{ days: DAYS.length }]);
});

test("a symbol that is not listed yet is not requested", async () => {
  const { run, service } = await scriptedMarket(listedOn("2024-02-01"), NOW);
  await run(REFERENCE);
  const before = service.seen.length;
  expect(await run(DAILY)).toMatchObject({ status: "complete", requests: { sent: 0 } });
  expect(service.seen).toHaveLength(before);
});

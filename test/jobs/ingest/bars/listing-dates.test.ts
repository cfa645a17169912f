import { expect, test } from "vitest";
import { DAY_MS } from "../../../../src/core/time.js";
import { lakeCoverage } from "../../../../src/jobs/ledger/lake-coverage.js";
import type { PipelineDefinition } from "../../../../src/jobs/pipeline/definition.js";
import { json, type Script } from "../../../faults/service/scripted-service.js";
import { openSession, queryLake } from "../../../lake/temporary-lake.js";
import { minutes, newestBars, weekdays } from "../../minute-market.js";
import { scriptedMarket } from "../../scripted-market.js";

const REFERENCE: PipelineDefinition = { name: "reference", kind: "reference" };
const DAILY: PipelineDefinition = { name: "daily", kind: "bars", period: "1d", from: "2023-10-01" };
const MINUTE: PipelineDefinition = { name: "minute", kind: "bars", period: "1m", from: "2023-10-01" };
/** More days than the minutes of one request contain. */
const DAYS = weekdays("2023-10-09", "2024-01-20");
const NOW = "2024-01-20T04:00:00Z";

/** A market with one instrument, which has bars on the given days. Its listing date may change. @param cap of days. */
function listedOn(
  listingDate: string | (() => string),
  days: readonly number[] = DAYS,
  cap = 10_000,
): Script {
  return (seen, response) => {
    const instrument = {
      symbol: "600519.SH",
      code: "600519",
      exchange: "SH",
      region: "CN",
      name: "one",
      type: "stock",
      ext: { type: "cn_equity", listing_date: typeof listingDate === "string" ? listingDate : listingDate() },
    };
    if (seen.path.endsWith("/exchanges"))
      return json(response, 200, { data: [{ exchange: "SH", region: "CN", count: 1 }] });
    if (seen.path.endsWith("/instruments")) return json(response, 200, { data: [instrument] });
    if (!seen.path.includes("klines")) return json(response, 200, { data: [] });
    const isDaily = seen.query.get("period") === "1d";
    return json(response, 200, {
      data: isDaily
        ? newestBars(seen, { "600519.SH": days }, cap)
        : newestBars(seen, { "600519.SH": minutes(days) }),
    });
  };
}

const DATES = (table: string) => `SELECT count(DISTINCT trade_date)::INT AS days FROM ${table}`;

test.each([
  ["", "2023-10-01", 10_000],
  [", where a first run asked for later days only", "2024-01-15", 10_000],
  [", where a response with earlier bars was cut", "2023-10-01", 30],
])("bars before a listing date that is wrong are requested%s", async (_, first, cap) => {
  const { run, lake } = await scriptedMarket(listedOn("2024-01-11", DAYS, cap), NOW);
  await run(REFERENCE);
  await run(DAILY, { from: first });
  expect(await run(DAILY)).toMatchObject({ status: "complete" });
  expect(await queryLake(lake, DATES("bars_1d"))).toEqual([{ days: DAYS.length }]);
});

test("so they are, days and minutes, where the lake has bars before it, and the range is extended to an earlier time", async () => {
  const { run, lake } = await scriptedMarket(listedOn("2024-01-11"), NOW);
  await run(REFERENCE);
  await run(DAILY, { from: "2024-01-08" });
  expect(await queryLake(lake, DATES("bars_1d"))).toEqual([{ days: 10 }]);
  expect(await run(MINUTE)).toMatchObject({ status: "complete" });
  expect(await queryLake(lake, DATES("bars_1m"))).toEqual([{ days: DAYS.length }]);
  expect(await run(DAILY)).toMatchObject({ status: "complete" });
  expect(await queryLake(lake, DATES("bars_1d"))).toEqual([{ days: DAYS.length }]);
});

test("a symbol that trades is requested, and counted by status, although its listing date is in the future", async () => {
  const since = { from: "2023-10-09" };
  let listingDate = "2023-10-09";
  const days = weekdays("2023-10-09", "2024-01-24");
  const { run, lake, clock } = await scriptedMarket(
    listedOn(() => listingDate, days),
    NOW,
  );
  await run(REFERENCE);
  await run(DAILY, since);
  await run(MINUTE, since);
  listingDate = "2024-03-01";
  clock.advance(4 * DAY_MS);
  await run(REFERENCE);
  const session = await openSession();
  const gap = { first: "2024-01-22", last: "2024-01-23", symbols: 1, place: "end" };
  const counted = { answered: DAYS.length, gaps: [gap] };
  expect(await lakeCoverage({ session, lake, clock })).toMatchObject([counted, counted]);
  for (const [pipeline, table] of [
    [DAILY, "bars_1d"],
    [MINUTE, "bars_1m"],
  ] as const) {
    expect(await run(pipeline, since)).toMatchObject({ status: "complete" });
    expect(await queryLake(lake, DATES(table))).toEqual([{ days: days.length }]);
  }
});

test("a symbol without bars that is not listed yet is not requested", async () => {
  const { run, service } = await scriptedMarket(listedOn("2024-02-01", []), NOW);
  await run(REFERENCE);
  const before = service.seen.length;
  expect(await run(DAILY)).toMatchObject({ status: "complete", requests: { sent: 0 } });
  expect(service.seen).toHaveLength(before);
});

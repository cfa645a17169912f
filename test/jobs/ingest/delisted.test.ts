import { expect, test } from "vitest";
import { lakeCoverage } from "../../../src/jobs/ledger/lake-coverage.js";
import type { PipelineDefinition } from "../../../src/jobs/pipeline/definition.js";
import { openReader } from "../../../src/lake/publish.js";
import { json, type Script } from "../../faults/scripted-service.js";
import { barsOn, scriptedMarket } from "../scripted-market.js";

const DAY = 86_400_000;
const REFERENCE: PipelineDefinition = { name: "reference", kind: "reference" };
const DAILY: PipelineDefinition = {
  name: "daily",
  kind: "bars",
  period: "1d",
  from: "2024-01-01",
  regions: ["CN"],
};
const DAYS = Array.from({ length: 60 }, (_, n) => Date.parse("2024-01-01T16:00:00Z") + n * DAY).filter(
  (ms) => ![5, 6].includes(new Date(ms).getUTCDay()),
);

/** A market that an instrument leaves; it has bars until then. */
function leaving(listed: () => readonly string[]): Script {
  return (seen, response) => {
    const instruments = listed().map((symbol) => ({
      symbol,
      code: symbol.slice(0, 6),
      exchange: "SH",
      region: "CN",
      name: symbol,
      type: "stock",
    }));
    if (seen.path.endsWith("/exchanges"))
      return json(response, 200, { data: [{ exchange: "SH", region: "CN", count: instruments.length }] });
    if (seen.path.endsWith("/instruments")) return json(response, 200, { data: instruments });
    if (seen.path.endsWith("/batch") && seen.path.includes("klines"))
      return json(response, 200, { data: barsOn(DAYS, seen) });
    return json(response, 200, { data: [] });
  };
}

test("a delisted symbol lacks nothing after it has left, and repair does not pay for it; before, it does", async () => {
  let listed = ["600519.SH", "601398.SH"];
  const { service, clock, lake, run } = await scriptedMarket(
    leaving(() => listed),
    "2024-01-13T00:00:00Z",
  );
  await run(REFERENCE);
  await run(DAILY);
  // It leaves on the 23rd, after it was requested up to the 12th.
  clock.advance(10 * DAY);
  listed = ["600519.SH"];
  await run(REFERENCE);
  clock.advance(24 * DAY);
  await run(DAILY);
  const gaps = async () => {
    const { session } = await openReader(lake, { threads: 1 });
    using reader = session;
    return (await lakeCoverage({ session: reader, lake, clock })).flatMap((one) => one.gaps);
  };
  expect(await gaps()).toMatchObject([
    { examples: ["601398.SH"], first: "2024-01-15", last: "2024-01-23", days: 7 },
  ]);
  const before = service.seen.length;
  await run(DAILY, { repair: true });
  const ends = service.seen
    .slice(before)
    .map(({ query }) => [query.get("symbols"), Number(query.get("end_time"))]);
  expect(ends).toEqual([["601398.SH", Date.parse("2024-01-23T16:00:00Z") - 1]]);
  expect(await gaps()).toEqual([]);
  expect((await run(DAILY, { repair: true })).requests.sent).toBe(0);
  // A symbol that is listed again is requested again.
  listed = ["600519.SH", "601398.SH"];
  clock.advance(DAY);
  await run(REFERENCE);
  expect((await gaps()).filter(({ examples }) => examples.includes("601398.SH"))).toMatchObject([
    { first: "2024-01-24", place: "end" },
  ]);
});

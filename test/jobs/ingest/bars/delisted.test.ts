import { expect, test } from "vitest";
import { lakeCoverage } from "../../../../src/jobs/ledger/lake-coverage.js";
import type { PipelineDefinition } from "../../../../src/jobs/pipeline/definition.js";
import { openReader } from "../../../../src/lake/open-reader.js";
import { json, type Script } from "../../../faults/service/scripted-service.js";
import { barsOn, scriptedMarket } from "../../scripted-market.js";

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

/** A market that an instrument leaves, and its universe; it has bars until then. */
function leaving(listed: () => readonly string[], members: () => readonly string[] = listed): Script {
  return (seen, response) => {
    const universe = { id: "U", name: "u", category: "c", region: "CN", symbol_count: members().length };
    if (seen.path.endsWith("/universes")) return json(response, 200, { data: [universe] });
    if (seen.path.endsWith("/universes/batch"))
      return json(response, 200, { data: { U: { ...universe, symbols: members() } } });
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

test.each([true, false])(
  "a delisted symbol is requested until it left, and not after that; by repair: %s",
  async (repair) => {
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
    if (repair) await run(DAILY, { symbols: ["600519.SH"] });
    const gaps = async () => {
      const { session } = await openReader(lake, { threads: 1 });
      using reader = session;
      return (await lakeCoverage({ session: reader, lake, clock })).flatMap((one) => one.gaps);
    };
    expect((await gaps()).filter(({ examples }) => examples.includes("601398.SH"))).toMatchObject([
      { first: "2024-01-15", last: "2024-01-23", days: 7 },
    ]);
    const before = service.seen.length;
    expect(await run(DAILY, { repair })).toMatchObject({ status: "complete" });
    const ends = service.seen
      .slice(before)
      .map(({ query }) => [query.get("symbols"), Number(query.get("end_time"))])
      .filter(([symbols]) => String(symbols).includes("601398.SH"));
    // In a request for others, too, it costs nothing after it has left.
    const alone = ends.filter(([symbols]) => symbols === "601398.SH").map(([, end]) => end);
    expect(alone).toEqual(repair ? [Date.parse("2024-01-23T16:00:00Z") - 1] : []);
    expect(ends).toHaveLength(1);
    expect(await gaps()).toEqual([]);
    expect((await run(DAILY, { repair })).requests.sent).toBe(0);
    if (!repair) {
      const soFar = service.seen.length;
      clock.advance(3 * DAY);
      await run(DAILY);
      const symbols = service.seen.slice(soFar).map(({ query }) => query.get("symbols"));
      expect(symbols).toEqual(["600519.SH"]);
      return;
    }
    // A symbol that is listed again is requested again.
    listed = ["600519.SH", "601398.SH"];
    clock.advance(DAY);
    await run(REFERENCE);
    expect((await gaps()).filter(({ examples }) => examples.includes("601398.SH"))).toMatchObject([
      { first: "2024-01-24", place: "end" },
    ]);
  },
);

test("a member that left a universe is requested until then, also while it is still listed", async () => {
  const listed = ["600519.SH", "601398.SH"];
  let members = listed;
  const { service, clock, run } = await scriptedMarket(
    leaving(
      () => listed,
      () => members,
    ),
    "2024-01-13T00:00:00Z",
  );
  await run(REFERENCE);
  clock.advance(10 * DAY);
  members = ["600519.SH"];
  await run(REFERENCE);
  const asked = async (): Promise<unknown[]> => {
    const before = service.seen.length;
    expect(await run(DAILY, { universes: ["U"] })).toMatchObject({ status: "complete" });
    return [...new Set(service.seen.slice(before).map(({ query }) => query.get("symbols")))];
  };
  expect(await asked()).toEqual(["600519.SH,601398.SH"]);
  // The day on which it left was not final yet.
  clock.advance(3 * DAY);
  expect(await asked()).toEqual(["600519.SH,601398.SH"]);
  clock.advance(3 * DAY);
  expect(await asked()).toEqual(["600519.SH"]);
});

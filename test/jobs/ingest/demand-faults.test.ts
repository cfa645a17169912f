import { expect, test } from "vitest";
import type { PipelineDefinition } from "../../../src/jobs/pipeline/definition.js";
import { json } from "../../faults/service/scripted-service.js";
import { barsAt, minutes } from "../minute-market.js";
import { barsOn, scriptedMarket } from "../scripted-market.js";

const DAY = 86_400_000;
const REFERENCE: PipelineDefinition = { name: "reference", kind: "reference" };
const DAILY: PipelineDefinition = { name: "daily", kind: "bars", period: "1d", from: "2024-01-08" };
const SHEETS: PipelineDefinition = { name: "sheets", kind: "statements", tables: ["balance_sheet"] };
const DAYS = ["2024-01-10", "2024-01-11"].map((day) => Date.parse(`${day}T16:00:00Z`));

/** A market of exchanges, each with one stock in a region, and of universes with the same members each. */
async function marketOf(
  exchanges: Readonly<Record<string, string>>,
  ids: () => readonly string[] = () => [],
  start = "2024-01-13T00:00:00Z",
  members: readonly string[] = ["600519.SH"],
) {
  const market = await scriptedMarket((seen, response) => {
    const reply = (data: unknown): void => json(response, 200, { data });
    const universe = (id: string) => ({
      id,
      name: id,
      category: "c",
      region: "CN",
      symbol_count: members.length,
    });
    const exchange = /\/exchanges\/([^/]+)\/instruments$/.exec(seen.path)?.[1] ?? "";
    const region = exchanges[exchange];
    if (region !== undefined) {
      const symbol = `600519.${exchange}`;
      return reply([{ symbol, code: "600519", exchange, region, name: symbol, type: "stock" }]);
    }
    if (seen.path.endsWith("/exchanges"))
      return reply(Object.entries(exchanges).map(([name, of]) => ({ exchange: name, region: of, count: 1 })));
    if (seen.path.endsWith("/universes")) return reply(ids().map(universe));
    if (seen.path.endsWith("/universes/batch")) {
      const { ids: asked } = JSON.parse(seen.body) as { ids: string[] };
      return reply(Object.fromEntries(asked.map((id) => [id, { ...universe(id), symbols: members }])));
    }
    if (seen.path.includes("intraday"))
      return reply({ "600519.SH": barsAt(minutes([Date.parse("2024-01-12T00:00:00+08:00")])) });
    if (seen.path.endsWith("balance-sheet"))
      return reply({ "600519.SH": [{ period_end: "2023-09-30", announce_date: null, total_assets: 1 }] });
    reply(barsOn(DAYS, seen));
  }, start);
  expect((await market.run(REFERENCE)).status).toBe("complete");
  return market;
}

test.each([DAILY, SHEETS])(
  "instruments of a requested region whose exchange is not known make the run partial: $name",
  async (pipeline) => {
    const { run, service } = await marketOf({ SH: "CN", NEW: "CN" });
    const failures = [
      {
        dataset: undefined,
        request: "instruments of the lake",
        reason:
          "their exchanges are not known, so they are not requested: 600519.NEW; to leave them out, name their exchanges in withoutExchanges of the pipeline",
        symbols: 1,
      },
    ];
    expect(await run(pipeline, { regions: ["CN"] })).toMatchObject({ status: "partial", failures });
    expect(service.seen.at(-1)?.query.get("symbols")).toBe("600519.SH");
    expect((await run(pipeline, { regions: ["US", "CN"] })).failures).toEqual(failures);
  },
);

test("exchanges that the pipeline leaves out are neither requested nor reported", async () => {
  const { run, service } = await marketOf({ SH: "CN", SZ: "CN", NEW: "CN" });
  for (const pipeline of [DAILY, SHEETS]) {
    const without = { ...pipeline, withoutExchanges: ["NEW", "SZ"] };
    expect(await run(without, { regions: ["CN"] })).toMatchObject({ status: "complete", failures: [] });
    expect(service.seen.at(-1)?.query.get("symbols")).toBe("600519.SH");
  }
});

test("members of universes on exchanges that the pipeline leaves out are neither requested nor reported", async () => {
  const { run, service } = await marketOf({}, () => ["U"], undefined, [
    "600519.SH",
    "600519.SZ",
    "600519.NEW",
  ]);
  for (const pipeline of [DAILY, SHEETS]) {
    const without = { ...pipeline, universes: ["U"], withoutExchanges: ["NEW", "SZ"] };
    expect(await run(without)).toMatchObject({ status: "complete", failures: [] });
    expect(service.seen.at(-1)?.query.get("symbols")).toBe("600519.SH");
  }
  expect(await run({ ...SHEETS, universes: ["U"] })).toMatchObject({ failures: [{ symbols: 1 }] });
});

test("gaps of exchanges that the pipeline leaves out are not filled", async () => {
  const { run, service } = await marketOf({ SH: "CN", SZ: "CN" });
  await run(DAILY, { symbols: ["600519.SH"] });
  const right = service.script;
  service.script = (_, response) => json(response, 500, "{}");
  await run(DAILY, { symbols: ["600519.SZ"] });
  service.script = right;
  const sent = service.seen.length;
  await run({ ...DAILY, withoutExchanges: ["SZ"] }, { repair: true });
  expect(service.seen.length).toBe(sent);
  await run(DAILY, { repair: true });
  expect(service.seen.at(-1)?.query.get("symbols")).toBe("600519.SZ");
  expect(service.seen.length).toBeGreaterThan(sent);
});

test("instruments of other regions are not reported", async () => {
  const { run } = await marketOf({ SH: "CN", NEW: "US", SG: "SG" });
  expect(await run(DAILY, { regions: ["CN"] })).toMatchObject({ status: "complete", failures: [] });
});

test("a universe that the service lists no more is a failure that names it, in each run with its members", async () => {
  let ids = ["U", "V"];
  const { run, clock } = await marketOf({}, () => ids);
  const report = (universes: string[]) => run(DAILY, { universes });
  expect(await report(["U", "V"])).toMatchObject({ status: "complete", failures: [] });
  ids = ["V"];
  clock.advance(2 * DAY);
  await run(REFERENCE);
  const ended = {
    request: "universe U",
    reason: expect.stringMatching(/^the service has not listed this universe since 2024-01-15, /),
  };
  expect(await report(["U", "V"])).toMatchObject({ status: "partial", failures: [ended] });
  expect((await run(SHEETS, { universes: ["U"] })).failures).toMatchObject([ended]);
  const intraday: PipelineDefinition = { name: "intraday", kind: "intraday", universes: ["U"] };
  expect((await run(intraday)).failures).toMatchObject([ended]);
  expect((await run({ ...SHEETS, universes: ["U"] })).failures).toMatchObject([ended]);
  expect(await report(["V"])).toMatchObject({ failures: [] });
  ids = ["U", "V"];
  clock.advance(2 * DAY);
  await run(REFERENCE);
  expect((await report(["U"])).failures).toEqual([]);
});

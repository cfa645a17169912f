import { describe, expect, onTestFinished, test, vi } from "vitest";
import { UsageError } from "../../../src/core/errors.js";
import { definePipeline, type PipelineDefinition } from "../../../src/jobs/pipeline/definition.js";
import { demandOf, type RunOptions } from "../../../src/jobs/run/run-demand.js";
import { ResponseSpool } from "../../../src/lake/requests/response-spool.js";
import { json, type Script } from "../../faults/service/scripted-service.js";
import { weekdays } from "../minute-market.js";
import { barsOn, scriptedMarket } from "../scripted-market.js";

const REFERENCE: PipelineDefinition = { name: "reference", kind: "reference" };
const DAILY: PipelineDefinition = { name: "daily", kind: "bars", period: "1d", from: "2024-01-02" };
const INTRADAY: PipelineDefinition = { name: "intraday", kind: "intraday", universes: ["U"] };
const STATEMENTS: PipelineDefinition = { name: "financials", kind: "statements" };

describe("what a pipeline would not follow is refused", () => {
  test.each<[PipelineDefinition, RunOptions, string]>([
    [REFERENCE, { symbols: ["600519.SH"] }, "symbols cannot be given"],
    [REFERENCE, { repair: true }, "repair cannot be given"],
    [INTRADAY, { symbols: ["600519.SH"] }, "symbols cannot be given"],
    [INTRADAY, { from: "2024-01-02" }, "a first date cannot be given"],
    [STATEMENTS, { lookbackDays: 3 }, "days to look back cannot be given"],
    [DAILY, { repair: true, symbols: ["600519.SH"] }, "repair and symbols are both given"],
    [DAILY, { repair: true, from: "2024-01-02" }, "repair and a first date are both given"],
    [DAILY, { repair: true, lookbackDays: 3 }, "repair and days to look back are both given"],
    [DAILY, { symbols: ["600519.SH"], regions: ["CN"] }, "symbols and regions are both given"],
    [DAILY, { symbols: ["600519.SH"], universes: ["U"] }, "symbols and universes are both given"],
  ])("%o with %o", (definition, options, message) => {
    const pipeline = definePipeline(definition);
    expect(() => demandOf(pipeline, options)).toThrow(UsageError);
    expect(() => demandOf(pipeline, options)).toThrow(message);
  });

  test("options that are undefined or false are not given", () => {
    const options = { symbols: undefined, repair: false };
    expect(demandOf(definePipeline(REFERENCE), options)).toMatchObject(options);
  });

  test("no days to look back can be given with repair", () => {
    const options = { repair: true, lookbackDays: 0 };
    expect(demandOf(definePipeline(DAILY), options)).toMatchObject(options);
  });

  test("before the run takes over responses that an earlier run left", async () => {
    const { run } = await scriptedMarket((_, response) => json(response, 200, {}), "2024-01-20T04:00:00Z");
    const takeOver = vi.spyOn(ResponseSpool, "takeOver");
    onTestFinished(() => takeOver.mockRestore());
    await expect(run(INTRADAY, { symbols: ["600519.SH"] })).rejects.toThrow("symbols cannot be given");
    expect(takeOver).not.toHaveBeenCalled();
  });
});

describe("the members of a universe", () => {
  const SYMBOLS = ["600519.SH", "00700.HK"];
  const market: Script = (seen, response) => {
    const universe = { id: "U", name: "u", category: "c", region: "CN", symbol_count: 2 };
    if (seen.path.endsWith("/universes")) return json(response, 200, { data: [universe] });
    if (seen.path.endsWith("/universes/batch"))
      return json(response, 200, { data: { U: { ...universe, symbols: SYMBOLS } } });
    const data = seen.path.includes("klines") ? barsOn(weekdays("2024-01-02", "2024-01-20"), seen) : [];
    return json(response, 200, { data });
  };

  test("are what a pipeline requests that names the universe, and nothing else of the lake", async () => {
    const named = { universes: ["U"] };
    for (const definition of [DAILY, STATEMENTS])
      expect(demandOf(definePipeline({ ...definition, ...named }), {})).toMatchObject(named);
    const { service, run } = await scriptedMarket(market, "2024-01-20T04:00:00Z");
    await run(REFERENCE);
    const before = service.seen.length;
    expect((await run({ ...DAILY, ...named })).status).toBe("complete");
    const asked = service.seen.slice(before).map(({ query }) => query.get("symbols"));
    expect(new Set(asked)).toEqual(new Set(SYMBOLS));
  });

  test("are requested for the given regions only", async () => {
    const { service, run } = await scriptedMarket(market, "2024-01-20T04:00:00Z");
    await run(REFERENCE);
    const before = service.seen.length;
    await run(DAILY, { universes: ["U"], regions: ["HK"] });
    const asked = service.seen.slice(before).map(({ query }) => query.get("symbols"));
    expect(new Set(asked)).toEqual(new Set(["00700.HK"]));
    await expect(run(DAILY, { universes: ["U"], regions: ["US"] })).rejects.toThrow(
      "universe U: none is of US",
    );
  });
});

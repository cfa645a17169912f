import { expect, test } from "vitest";
import type { PipelineDefinition } from "../../../src/jobs/pipeline/definition.js";
import { json } from "../../faults/service/scripted-service.js";
import { queryLake } from "../../lake/temporary-lake.js";
import { barsAt, minutes } from "../minute-market.js";
import { scriptedMarket } from "../scripted-market.js";

const MINUTE: PipelineDefinition = { name: "minute", kind: "bars", period: "1m", from: "2024-01-11" };
const INTRADAY: PipelineDefinition = { name: "intraday", kind: "intraday", universes: ["KNOWN"] };
const DAY = minutes([Date.parse("2024-01-12T00:00:00+08:00")]);

test("minutes of futures are not requested by name, and do not land with a universe, whose other minutes do", async () => {
  const data = { "rb2405.SHF": barsAt(DAY), "600519.SH": barsAt(DAY) };
  const market = await scriptedMarket((_, response) => json(response, 200, { data }), "2024-01-12T12:00:00Z");
  await expect(market.run(MINUTE, { symbols: ["rb2405.SHF"] })).rejects.toThrow(
    /rb2405\.SHF: minutes of its exchange cannot land/,
  );
  expect(await market.run(INTRADAY)).toMatchObject({
    status: "partial",
    rejected: [{ rule: "unknown_sessions", rows: DAY.length }],
  });
  expect(await queryLake(market.lake, "SELECT DISTINCT symbol FROM bars_1m")).toEqual([
    { symbol: "600519.SH" },
  ]);
  const reasons = "SELECT DISTINCT rule FROM rejects WHERE symbol = 'rb2405.SHF'";
  expect(await queryLake(market.lake, reasons)).toEqual([{ rule: "unknown_sessions" }]);
});

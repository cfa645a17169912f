import { expect, test } from "vitest";
import type { PipelineDefinition } from "../../../../src/jobs/pipeline/definition.js";
import { json } from "../../../faults/service/scripted-service.js";
import { barsAt, minutes } from "../../minute-market.js";
import { type Bars, scriptedMarket } from "../../scripted-market.js";

const INTRADAY: PipelineDefinition = { name: "intraday", kind: "intraday", universes: ["U"] };
const DAY = minutes([Date.parse("2024-01-12T00:00:00+08:00")]);

test.each<[string, (bars: Bars) => void]>([
  ["cannot be read", (bars) => Object.assign(bars.close ?? [], { 7: null })],
  ["does not hold together", (bars) => bars.close?.pop()],
  ["breaks a rule", (bars) => Object.assign(bars.high ?? [], { 7: 1 })],
])(
  "a universe with a minute that %s: the next run requests it again, and is partial until it is good",
  async (_, spoil) => {
    let isSound = false;
    const { run, clock } = await scriptedMarket((_seen, response) => {
      const own = barsAt(DAY);
      if (!isSound) spoil(own);
      json(response, 200, { data: { "600519.SH": own, "000001.SZ": barsAt(DAY) } });
    }, "2024-01-12T12:00:00Z");
    for (let time = 1; time <= 2; time++) {
      expect(await run(INTRADAY)).toMatchObject({ status: "partial", requests: { sent: 1, answered: 1 } });
      clock.advance(600_000);
    }
    isSound = true;
    expect(await run(INTRADAY)).toMatchObject({ status: "complete", requests: { sent: 1 }, rows: 480 });
    clock.advance(600_000);
    expect(await run(INTRADAY)).toMatchObject({ status: "complete", requests: { sent: 0 } });
  },
);

test("a repeated minute is no loss: the universe is not requested again", async () => {
  const { run } = await scriptedMarket((_seen, response) => {
    const own = barsAt(DAY);
    for (const values of Object.values(own)) values.push(values.at(-1) as number);
    json(response, 200, { data: { "600519.SH": own } });
  }, "2024-01-12T12:00:00Z");
  expect(await run(INTRADAY)).toMatchObject({ status: "complete", requests: { sent: 1 } });
  expect(await run(INTRADAY)).toMatchObject({ status: "complete", requests: { sent: 0 } });
});

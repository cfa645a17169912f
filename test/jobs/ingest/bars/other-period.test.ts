import { expect, test } from "vitest";
import { MINUTE_MS } from "../../../../src/core/time.js";
import type { PipelineDefinition } from "../../../../src/jobs/pipeline/definition.js";
import { SESSION_HOURS } from "../../../../src/market/sessions.js";
import { json, type Script } from "../../../faults/service/scripted-service.js";
import { queryLake } from "../../../lake/temporary-lake.js";
import { minutes, newestBars, weekdays } from "../../minute-market.js";
import { scriptedMarket } from "../../scripted-market.js";

const NOW = "2024-12-14T00:00:00Z";
const MINUTE: PipelineDefinition = { name: "minute", kind: "bars", period: "1m", from: "2024-12-02" };
const DAYS = weekdays("2024-12-02", "2024-12-14");
const SYMBOLS = Array.from({ length: 6 }, (_, n) => `${600_000 + n}.SH`);

/** A service with the same times for each symbol. */
const giving =
  (times: readonly number[]): Script =>
  (seen, response) =>
    json(response, 200, {
      data: newestBars(seen, Object.fromEntries(SYMBOLS.map((symbol) => [symbol, times]))),
    });

test("bars of another period never land, and the next run lands those that were requested", async () => {
  // Quarters of an hour.
  const wrong = DAYS.flatMap((day) =>
    SESSION_HOURS.CN.parts.flatMap(([open, close]) =>
      Array.from({ length: (close - open) / 15 }, (_, n) => day + (open + (n + 1) * 15) * MINUTE_MS),
    ),
  );
  const { run, service, clock, lake } = await scriptedMarket(giving(wrong), NOW);
  const first = await run(MINUTE, { symbols: SYMBOLS });
  expect(first).toMatchObject({ status: "partial", rows: 0, requests: { sent: 2 } });
  expect(first.completeness[0]?.setAside.map(({ symbol, bars }) => [symbol, bars])).toEqual(
    SYMBOLS.map((symbol) => [symbol, wrong.length]),
  );
  const bars = () => queryLake(lake, "SELECT count(*)::INT AS bars FROM bars_1m");
  expect(await bars()).toEqual([{ bars: 0 }]);
  service.script = giving(minutes(DAYS));
  clock.advance(1000);
  expect(await run(MINUTE, { symbols: SYMBOLS })).toMatchObject({
    status: "complete",
    requests: { sent: 1 },
  });
  expect(await bars()).toEqual([{ bars: DAYS.length * 240 * SYMBOLS.length }]);
});

import { expect, test } from "vitest";
import { importActions } from "../../../src/cli/demo/demo-market.js";
import type { TradingDate } from "../../../src/core/time.js";
import { compareLakes } from "../../../src/jobs/maintenance/compare-lakes.js";
import { fillLake } from "../../../src/sim/fill-lake.js";
import { simulateMarket } from "../../../src/sim/market.js";
import { queryLake, temporaryLake } from "../../lake/temporary-lake.js";

const MARKET = simulateMarket({ seed: 9, symbols: 30, days: 130, end: "2025-11-20" as TradingDate });
const VERSIONS = MARKET.actionVersions(MARKET.instruments.map(({ symbol }) => symbol));
const FILL = { minuteDays: 0, runId: "sim", now: Date.parse("2025-11-21T00:00:00Z") };

test("imported actions are those of the simulated market's lake, with their corrections", async () => {
  const [market, lake] = [temporaryLake(), temporaryLake()];
  await fillLake(market, MARKET, { ...FILL, withActions: true });
  await fillLake(lake, MARKET, FILL);
  const { announced, corrected } = await importActions(lake, VERSIONS, new AbortController().signal);
  expect(announced + corrected).toBe(VERSIONS.length);
  expect(corrected).toBeGreaterThan(0);
  const actions = (await compareLakes(market, lake)).find(({ table }) => table === "corporate_actions");
  expect(actions).toEqual({
    table: "corporate_actions",
    rows: VERSIONS.length,
    onlyLeft: 0,
    onlyRight: 0,
  });

  // The market's lake knows since when, too.
  const known = await queryLake(
    market,
    `SELECT symbol, ex_date::VARCHAR AS ex_date, kind, known_from::VARCHAR AS "from" FROM corporate_action_versions
     ORDER BY symbol, ex_date, kind, first_seen_at`,
  );
  const order = ({ symbol, ex_date, kind, firstSeen }: (typeof VERSIONS)[number]): string =>
    [symbol, ex_date, kind, firstSeen].join(" ");
  expect(known).toEqual(
    VERSIONS.toSorted((a, b) => (order(a) < order(b) ? -1 : 1)).map((one) => ({
      symbol: one.symbol,
      ex_date: one.ex_date,
      kind: one.kind,
      from: one.firstSeen,
    })),
  );
});

import { join } from "node:path";
import { expect, test } from "vitest";
import type { TradingDate } from "../../../src/core/time.js";
import { Session } from "../../../src/db/session/session.js";
import { landedBars } from "../../../src/jobs/ledger/landed-bars.js";
import { Lake } from "../../../src/lake/lake.js";
import type { DataFile, Snapshot } from "../../../src/lake/log/snapshot.js";
import { optimize } from "../../../src/lake/maintenance/optimize.js";
import { openReader } from "../../../src/lake/open-reader.js";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { fillLake } from "../../../src/sim/fill-lake.js";
import { simulateMarket } from "../../../src/sim/market.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { landRows } from "../../serve/served-lake.js";

test("what the log says of bars is what a query finds, in many files and one, and without statistics", async () => {
  const lake = new Lake(join(temporaryFolder(), "lake"), { hasDatabase: false });
  const now = Date.parse("2026-11-21T00:00:00Z");
  const market = simulateMarket({ seed: 3, symbols: 30, days: 80, end: "2026-11-20" as TradingDate });
  await fillLake(lake, market, { minuteDays: 2, runId: "sim", now });
  // The evening of New York is the next day in UTC.
  const bar = { symbol: "AAPL.US", open: 1, high: 1, low: 1, close: 1, volume: 1, amount: 1 };
  await landRows(lake, BARS_1M, [{ ...bar, timestamp: Date.parse("2026-11-19T01:00:00Z") }]);
  await landRows(lake, BARS_1D, [{ ...bar, timestamp: Date.parse("2026-11-18T05:00:00Z") }]);
  const expectSame = async (of: (snapshot: Snapshot) => Snapshot = (one) => one): Promise<void> => {
    const { session, snapshots } = await openReader(lake, { threads: 1 });
    using reader = session;
    for (const { name } of [BARS_1D, BARS_1M]) {
      const snapshot = snapshots.find(({ table }) => table.name === name) as Snapshot;
      const queried = await reader.json(
        `SELECT '${name}' AS dataset, region, count(DISTINCT symbol)::DOUBLE AS symbols, count(*)::DOUBLE AS bars,
           min(trade_date)::VARCHAR AS first, max(trade_date)::VARCHAR AS last FROM ${name} GROUP BY region ORDER BY region`,
      );
      expect(queried.length).toBeGreaterThan(1);
      expect(await landedBars(reader, lake, of(snapshot), now)).toEqual(queried);
    }
  };
  await expectSame();
  using session = await Session.open({ threads: 1 });
  for (const table of [BARS_1D, BARS_1M]) await optimize(session, lake, table, { runId: "test" });
  await expectSame();
  // Another writer's file may have none.
  const blind = (file: DataFile): DataFile =>
    Object.create(file, { stats: { value: undefined } }) as DataFile;
  await expectSame((snapshot) => ({
    ...snapshot,
    files: new Map([...snapshot.files].map(([path, file], n) => [path, n === 0 ? blind(file) : file])),
  }));
});

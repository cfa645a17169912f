import { expect, test } from "vitest";
import { Session } from "../../../src/db/session/session.js";
import { qualityRules } from "../../../src/ui/quality/quality-rules.js";

test.each([
  ["600519.SH", "2024-01-07 16:00:00+00", "2024-01-08"],
  ["AAPL.US", "2024-01-09T02:30:00Z", "2024-01-08"],
  ["600519.SH", "2024-01-08", "2024-01-08"],
  ["600519.SH", "2024-01-08 09:31:00", "2024-01-08"],
  ["no symbol", "2024-01-07T16:00:00+00:00", "2024-01-07"],
  ["600519.SH", "yesterday", null],
])("a row of %s that was set aside with the time %s has the trading date %s", async (symbol, time, date) => {
  using session = await Session.open();
  await session.run(`CREATE TABLE rejects AS SELECT 'bars_1d' AS dataset, 'r' AS rule, 'why' AS reason, 'a.csv' AS source,
    1 AS line, '${symbol}' AS symbol, '${time}' AS "timestamp", 1 AS bars, '{}' AS "row", 'run' AS run_id`);
  const rule = qualityRules().find(({ name }) => name === "set_aside");
  expect(await session.json(`SELECT trade_date::VARCHAR AS date FROM (${rule?.sql})`)).toEqual([{ date }]);
});

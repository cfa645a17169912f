import { expect, test } from "vitest";
import { openReader } from "../../../src/lake/open-reader.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { marketSummary, readQuotes } from "../../../src/ui/lake/lake-summary.js";
import { landSomeActions } from "../../lake/land/some-actions.js";
import { land, openSession, T0, temporaryLake } from "../../lake/temporary-lake.js";

test("the change of a day starts at the price level of the day, where only a source has the ex-event", async () => {
  const lake = temporaryLake();
  const session = await openSession();
  // An ex-date of new shares and cash. The bars state no previous close.
  await land(session, lake, BARS_1D, [
    { at: "2026-06-18T00:00:00+08:00", close: 130 },
    { at: "2026-06-19T00:00:00+08:00", close: 101 },
    { symbol: "000001.SZ", at: "2026-06-18T00:00:00+08:00", close: 10 },
    { symbol: "000001.SZ", at: "2026-06-19T00:00:00+08:00", close: 11 },
  ]);
  await landSomeActions(session, lake, T0);
  using reader = await openReader(lake, { threads: 1 });
  const returns = await reader.session.json<{ symbol: string; change: number }>(
    `SELECT symbol, simple_return AS change FROM returns WHERE trade_date = DATE '2026-06-19' ORDER BY symbol`,
  );
  // As traded it fell by 23 %.
  expect(returns[1]?.change).toBeGreaterThan(0);
  const at = Date.parse("2026-06-20T00:00:00Z");
  const [market] = await marketSummary(reader, at);
  const changes = market?.traded.map(({ symbol, change }) => ({ symbol, change }));
  expect(changes?.sort((a, b) => (a.symbol < b.symbol ? -1 : 1))).toEqual(returns);
  const quotes = await readQuotes(reader, ["600519.SH", "NONE.US", "000001.SZ"], at);
  expect(quotes.map(({ symbol, day, change }) => ({ symbol, day, change }))).toEqual(
    [...returns].reverse().map((one) => ({ ...one, day: "2026-06-19" })),
  );
});

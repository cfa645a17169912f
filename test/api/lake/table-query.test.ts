import { expect, test } from "vitest";
import { tableQuery } from "../../../src/api/lake/table-query.js";
import { openReader } from "../../../src/lake/open-reader.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { land, openSession, temporaryLake } from "../../lake/temporary-lake.js";

test.each([1, 2, 3])(
  "a read of %i symbols' adjusted prices reads the bars of no other symbol",
  async (count) => {
    const session = await openSession();
    const lake = temporaryLake();
    const days = ["2026-02-26T16:00:00Z", "2026-03-05T16:00:00Z"];
    const known = ["600519.SH", "000001.SZ", "000002.SZ", "000004.SZ"];
    const bars = known.flatMap((symbol) => days.map((at) => ({ symbol, at, prevClose: 8 })));
    await land(session, lake, BARS_1D, bars);
    using reader = await openReader(lake, { threads: 1 });
    const symbols = known.slice(0, count);
    const { sql, values } = await tableQuery(reader.session, "bars_1d", { symbols, adjust: "backward" });
    const bound = values as Readonly<Record<string, string>>;
    expect(await reader.session.json(sql, bound)).toHaveLength(count * days.length);
    const plan = await reader.session.json<{ explain_value: string }>(`EXPLAIN ${sql}`, bound);
    const text = plan.map((row) => row.explain_value).join("\n");
    // Each adjustment reads the bars twice: for the prices, and for ex-events.
    const filters = text.match(/symbol='[0-9]{6}\.S[HZ]'/g) ?? [];
    for (const symbol of symbols) expect(filters.filter((one) => one.includes(symbol))).toHaveLength(2);
  },
);

test("a read of several symbols' prices as traded reads the bars once", async () => {
  const session = await openSession();
  const lake = temporaryLake();
  const symbols = ["000001.SZ", "000002.SZ", "600519.SH"];
  const bars = symbols.map((symbol) => ({ symbol, at: "2026-02-26T16:00:00Z" }));
  await land(session, lake, BARS_1D, bars);
  using reader = await openReader(lake, { threads: 1 });
  const { sql, values } = await tableQuery(reader.session, "bars_1d", { symbols, adjust: "none" });
  const bound = values as Readonly<Record<string, string>>;
  expect(await reader.session.json(sql, bound)).toHaveLength(symbols.length);
  const plan = await reader.session.json<{ explain_value: string }>(`EXPLAIN ${sql}`, bound);
  const text = plan.map((row) => row.explain_value).join("\n");
  expect(text.match(/Function:/g)).toHaveLength(1);
});

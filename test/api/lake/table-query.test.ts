import { expect, test } from "vitest";
import { tableQuery } from "../../../src/api/lake/lake-queries.js";
import { openReader } from "../../../src/lake/open-reader.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { land, openSession, temporaryLake } from "../../lake/temporary-lake.js";

test.each([1, 2, 9, 60])(
  "a read of %i symbols' adjusted prices reads the bars of no other symbol, also for what they are adjusted by",
  async (count) => {
    const session = await openSession();
    const lake = temporaryLake();
    const days = ["2026-02-26T16:00:00Z", "2026-03-05T16:00:00Z"];
    const known = Array.from({ length: 70 }, (_, n) => `${600_500 + n}.SH`);
    const bars = known.slice(0, 4).flatMap((symbol) => days.map((at) => ({ symbol, at, prevClose: 8 })));
    await land(session, lake, BARS_1D, bars);
    using reader = await openReader(lake, { threads: 1 });
    const symbols = known.slice(0, count);
    const { sql, values } = await tableQuery(reader.session, "bars_1d", { symbols, adjust: "backward" });
    const bound = values as Readonly<Record<string, string>>;
    const all = await reader.session.json<{ symbol: string }>(
      "FROM adjusted('1d', 'backward') ORDER BY symbol, trade_date",
    );
    const found = await reader.session.json(sql, bound);
    expect(found).toEqual(all.filter(({ symbol }) => symbols.includes(symbol)));
    expect(found).toHaveLength(Math.min(count, 4) * days.length);
    const plan = await reader.session.json<{ explain_value: string }>(`EXPLAIN ${sql}`, bound);
    const text = plan.map((row) => row.explain_value).join("\n");
    const [scans, filters] = [/Function:/g, /symbol='\d{6}\.SH'|optional: symbol IN/g].map(
      (one) => text.match(one)?.length,
    );
    expect(scans).toBeGreaterThan(0);
    expect(filters).toBe(scans);
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

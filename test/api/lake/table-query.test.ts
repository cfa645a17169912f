import { expect, test } from "vitest";
import { tableQuery } from "../../../src/api/lake/table-query.js";
import { openReader } from "../../../src/lake/open-reader.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { land, openSession, temporaryLake } from "../../lake/temporary-lake.js";

test("a read of one symbol's adjusted prices reads the bars of no other symbol, for ex-events neither", async () => {
  const session = await openSession();
  const lake = temporaryLake();
  const days = ["2026-02-26T16:00:00Z", "2026-03-05T16:00:00Z"];
  const bars = ["600519.SH", "000001.SZ"].flatMap((symbol) =>
    days.map((at) => ({ symbol, at, prevClose: 8 })),
  );
  await land(session, lake, BARS_1D, bars);
  using reader = await openReader(lake, { threads: 1 });
  const filter = { symbols: ["600519.SH"], adjust: "backward" } as const;
  const { sql, values } = await tableQuery(reader.session, "bars_1d", filter);
  const bound = values as Readonly<Record<string, string>>;
  expect(await reader.session.json(sql, bound)).toHaveLength(2);
  const plan = await reader.session.json<{ explain_value: string }>(`EXPLAIN ${sql}`, bound);
  const scans = plan
    .map((row) => row.explain_value)
    .join("\n")
    .split(/\bWINDOW\b/);
  expect(scans.length).toBeGreaterThan(1);
  expect(scans.at(-1)).toMatch(/READ_PARQUET[^]*symbol='600519\.SH'/);
});

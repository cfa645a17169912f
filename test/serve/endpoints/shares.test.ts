import { expect, test } from "vitest";
import { openReader } from "../../../src/lake/open-reader.js";
import { publish } from "../../../src/lake/publish.js";
import { INSTRUMENTS } from "../../../src/schema/reference.js";
import { SHARES } from "../../../src/schema/statements.js";
import { landFinancials, landReference, serveForFile } from "../served-lake.js";
import { goldenResponses } from "./golden-responses.js";

type Body = { readonly data: Readonly<Record<string, readonly Record<string, unknown>[]>> };

const SYMBOLS = ["600000.SH", "600001.SH", "AAPL.US"];

const served = serveForFile(async (lake) => {
  const listed = (symbol: string, total_shares: number | null, limit_up = 10) => {
    const [code, exchange] = symbol.split(".");
    const region = exchange === "US" ? "US" : "CN";
    return {
      symbol,
      code,
      exchange,
      region,
      type: "stock",
      total_shares,
      float_shares: total_shares,
      limit_up,
    };
  };
  const snapshot = (at: string, rows: readonly object[]): Promise<void> =>
    landReference(lake, INSTRUMENTS, rows as Record<string, unknown>[], { now: Date.parse(at) });
  await snapshot("2024-03-01T20:00Z", [
    listed("600000.SH", 5),
    listed("600001.SH", 7),
    listed("AAPL.US", null),
  ]);
  // Another limit alone is no change of the shares.
  await snapshot("2024-03-04T20:00Z", [
    listed("600000.SH", 5, 11),
    listed("600001.SH", 7, 11),
    listed("AAPL.US", 9),
  ]);
  // Two snapshots of one day in Shanghai: the later one counts.
  await snapshot("2024-03-05T20:00Z", [listed("600000.SH", 6), listed("600001.SH", 8)]);
  await snapshot("2024-03-06T01:00Z", [listed("600000.SH", 6), listed("600001.SH", 14)]);
  await landFinancials(lake, SHARES, [
    {
      symbol: "600000.SH",
      period_end: "2023-12-31",
      announce_date: "2024-03-30",
      total_shares: 5,
      float_shares: 4,
    },
  ]);
  await publish(lake);
});

goldenResponses(served, "shares");

test("the view has the rows of the service", async () => {
  const { body } = await served.ask<Body>(`/v1/financials/shares?symbols=${SYMBOLS.join(",")}`);
  const { session } = await openReader(served.lake, { threads: 1, statement: "shares" });
  using reader = session;
  const rows = await reader.json(
    `SELECT symbol, period_end::VARCHAR AS period_end, announce_date::VARCHAR AS announce_date, derived_from,
       float_shares, total_shares FROM shares ORDER BY symbol, period_end`,
  );
  const expected = Object.entries(body.data).flatMap(([symbol, list]) =>
    list.map((one) => ({ symbol, ...one })),
  );
  expect(rows).toEqual(expected);
  expect(
    await reader.json("SELECT symbol, first_seen_at::VARCHAR IS NOT NULL AS seen FROM shares"),
  ).toHaveLength(4);
});

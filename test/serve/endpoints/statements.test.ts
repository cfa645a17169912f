import { expect, test } from "vitest";
import { INSTRUMENTS } from "../../../src/schema/reference.js";
import { BALANCE_SHEET, CASH_FLOW } from "../../../src/schema/statements.js";
import { landFinancials, landReference, listed, NOW, serveForFile } from "../served-lake.js";
import { goldenResponses } from "./golden-responses.js";

const served = serveForFile(async (lake) => {
  const sheet = (period_end: string, total_assets: number, announce_date: string | null = null) => ({
    symbol: "600000.SH",
    period_end,
    announce_date,
    total_assets,
  });
  await landFinancials(lake, BALANCE_SHEET, [
    sheet("2023-12-31", 100, "2024-03-01"),
    sheet("2023-09-30", 90, "2023-10-20"),
    sheet("2024-03-31", 110),
    { symbol: "AAPL.US", period_end: "2023-12-31", announce_date: null, total_assets: 7.25, odd_item: 1.5 },
  ]);
  // A restatement, first without a date and then with a later one.
  await landFinancials(lake, BALANCE_SHEET, [sheet("2023-12-31", 101)], NOW + 1000);
  await landFinancials(lake, BALANCE_SHEET, [sheet("2023-12-31", 102, "2024-04-01")], NOW + 2000);
  await landFinancials(lake, BALANCE_SHEET, [sheet("2024-03-31", 111)], NOW + 3000);
  await landFinancials(lake, CASH_FLOW, [{ symbol: "600000.SH", period_end: "2023-12-31", capex: -3 }]);
  await landReference(lake, INSTRUMENTS, [listed("600001.SH")]);
});

goldenResponses(served, "statements");

test("every field is there, and those that deliveries added", async () => {
  type Body = { readonly data: Readonly<Record<string, readonly object[]>> };
  const { body } = await served.ask<Body>("/v1/financials/balance-sheet?symbols=AAPL.US");
  const [record] = body.data["AAPL.US"] ?? [];
  const declared = BALANCE_SHEET.columns.map((c) => c.name);
  const own = declared.filter((name) => !["symbol", "first_seen_at", "region"].includes(name));
  expect(Object.keys(record ?? {}).sort()).toEqual([...own, "odd_item"].sort());
});

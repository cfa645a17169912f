import { expect, test } from "vitest";
import { INSTRUMENTS } from "../../../src/schema/reference.js";
import { BALANCE_SHEET, CASH_FLOW } from "../../../src/schema/statements.js";
import { statementRecord } from "../../../src/wire/resources.js";
import { landFinancials, landReference, listed, NOW, serveForFile } from "../served-lake.js";

type Record_ = {
  readonly period_end: string;
  readonly announce_date: string | null;
  readonly [field: string]: unknown;
};
type Body = { readonly data: Readonly<Record<string, readonly Record_[]>> };

const SHEETS = "/v1/financials/balance-sheet?symbols=";
const periods = async (query: string): Promise<string[]> =>
  ((await served.ask<Body>(`${SHEETS}600000.SH${query}`)).body.data["600000.SH"] ?? []).map(
    (one) => one.period_end,
  );

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

test("the newest version of each period comes, ascending by period", async () => {
  const { body } = await served.ask<Body>(`${SHEETS}600000.SH`);
  const records = (body.data["600000.SH"] ?? []).map((one) => statementRecord.parse(one));
  expect(records.map((one) => [one.period_end, one.announce_date, one.total_assets])).toEqual([
    ["2023-09-30", "2023-10-20", 90],
    ["2023-12-31", "2024-04-01", 102],
    ["2024-03-31", null, 111],
  ]);
});

test("every field is there, null where nothing is reported, and those that deliveries added", async () => {
  const { body } = await served.ask<Body>(`${SHEETS}AAPL.US`);
  const [record] = body.data["AAPL.US"] ?? [];
  expect(record).toMatchObject({ total_assets: 7.25, odd_item: 1.5, goodwill: null, announce_date: null });
  const declared = BALANCE_SHEET.columns.map((c) => c.name);
  const own = declared.filter((name) => !["symbol", "first_seen_at", "region"].includes(name));
  expect(Object.keys(record ?? {}).sort()).toEqual([...own, "odd_item"].sort());
});

test("periods are returned from start_date to end_date, both included", async () => {
  expect(await periods("&start_date=2023-12-31")).toEqual(["2023-12-31", "2024-03-31"]);
  expect(await periods("&end_date=2023-12-31")).toEqual(["2023-09-30", "2023-12-31"]);
  expect(await periods("&start_date=2023-10-01&end_date=2023-12-31")).toEqual(["2023-12-31"]);
  expect(await periods("&start_date=2024-04-01")).toEqual([]);
  expect(await periods("&start_date=2024-01-01&end_date=2023-01-01")).toEqual([]);
});

test("latest returns each symbol's last period of those", async () => {
  expect(await periods("&latest=true")).toEqual(["2024-03-31"]);
  expect(await periods("&latest=1&end_date=2023-12-31")).toEqual(["2023-12-31"]);
  expect(await periods("&latest=false")).toHaveLength(3);
});

test("what is not known is left out; what has no record has an empty list", async () => {
  const { body } = await served.ask<Body>(
    `${SHEETS}600009.SH,AAPL.US,600001.SH,600000.SH&start_date=2024-01-01`,
  );
  expect(Object.entries(body.data).map(([symbol, list]) => [symbol, list.length])).toEqual([
    ["AAPL.US", 0],
    ["600001.SH", 0],
    ["600000.SH", 1],
  ]);
});

test("cash flow statements are a separate table", async () => {
  const { body } = await served.ask<Body>("/v1/financials/cash-flow?symbols=600000.SH,AAPL.US");
  expect(Object.keys(body.data)).toEqual(["600000.SH"]);
  expect(body.data["600000.SH"]).toMatchObject([
    { period_end: "2023-12-31", capex: -3, net_cash_change: null },
  ]);
});

test("parameters that break a rule are refused", async () => {
  for (const [query, message] of [
    ["", "symbols is required"],
    ["600000.SH&start_date=2024-02-30", "start_date is not a date YYYY-MM-DD"],
    ["600000.SH&end_date=20240201", "end_date is not a date YYYY-MM-DD"],
    ["600000.SH&latest=yes", "latest is not true or false"],
  ] as const) {
    const { status, body } = await served.ask(SHEETS + query);
    expect([status, body]).toEqual([400, { code: "INVALID_PARAMETER", message }]);
  }
});

import { expect, test } from "vitest";
import { stageObjects } from "../../src/lake/land/clear-values.js";
import { upsert } from "../../src/lake/land/upsert.js";
import { openReader } from "../../src/lake/open-reader.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { INSTRUMENTS } from "../../src/schema/reference.js";
import { BALANCE_SHEET, CASH_FLOW, INCOME } from "../../src/schema/statements.js";
import { land, openSession, T0, temporaryLake } from "../lake/temporary-lake.js";

interface Version {
  readonly period: string;
  readonly announced: string | null;
  readonly value: number;
  /** When this lake first saw it. @default the announcement */
  readonly seen?: string;
}

/** A lake with a bar on each of the given dates, and the given versions of balance sheets and cash flows. */
async function lakeWith(
  dates: readonly string[],
  sheets: readonly Version[],
  flows: readonly Version[] = [],
  incomes: readonly Version[] = [],
) {
  const [lake, session] = [temporaryLake(), await openSession()];
  await land(
    session,
    lake,
    BARS_1D,
    dates.map((date) => ({ at: Date.parse(`${date}T00:00:00+08:00`) })),
  );
  const options = { operation: "TEST", runId: "test", now: T0 };
  const put = async (
    table: typeof BALANCE_SHEET,
    field: string,
    versions: readonly Version[],
  ): Promise<void> => {
    const rows = versions.map((version) => ({
      symbol: "600519.SH",
      region: "CN",
      period_end: version.period,
      announce_date: version.announced,
      first_seen_at: Date.parse(`${version.seen ?? version.announced ?? "2000-01-01"}T02:00:00Z`),
      [field]: version.value,
    }));
    await stageObjects(session, "versions_in", table.columns, rows);
    await upsert(session, lake, table, "versions_in", options);
  };
  await put(BALANCE_SHEET, "total_assets", sheets);
  await put(CASH_FLOW, "capex", flows);
  await put(INCOME, "revenue", incomes);
  await stageObjects(session, "instruments_in", INSTRUMENTS.columns, [
    {
      symbol: "600519.SH",
      code: "600519",
      exchange: "SH",
      name: "old",
      type: "stock",
      valid_from: 1,
      valid_to: 2,
      region: "CN",
    },
    {
      symbol: "600519.SH",
      code: "600519",
      exchange: "SH",
      name: "new",
      type: "stock",
      valid_from: 2,
      region: "CN",
    },
  ]);
  await upsert(session, lake, INSTRUMENTS, "instruments_in", options);
  const reader = await openReader(lake, { threads: 1, statement: "daily_fundamentals" });
  try {
    return await reader.session.json<{
      date: string;
      name: string;
      period: string | null;
      assets: number | null;
      capex: number | null;
      revenue: number | null;
      of: string | null;
    }>(
      `SELECT trade_date::VARCHAR AS date, name, balance_sheet_period_end::VARCHAR AS period, total_assets AS assets, capex,
         revenue, income_period_end::VARCHAR AS "of"
       FROM daily_fundamentals ORDER BY trade_date`,
    );
  } finally {
    reader.session.close();
  }
}

test("a statement counts from the day of its announcement on, and not before", async () => {
  const rows = await lakeWith(
    ["2024-04-29", "2024-04-30", "2024-05-06"],
    [{ period: "2024-03-31", announced: "2024-04-30", value: 100 }],
  );
  expect(rows.map((row) => row.assets)).toEqual([null, 100, 100]);
});

test("the income statement is the one that was known, with any knowledge of the others", async () => {
  const rows = await lakeWith(
    ["2024-04-26", "2024-04-29", "2024-09-02", "2024-10-02"],
    [{ period: "2024-03-31", announced: "2024-04-30", value: 100 }],
    [],
    [
      { period: "2024-03-31", announced: "2024-04-29", value: 7 },
      { period: "2024-06-30", announced: "2024-08-30", value: 15 },
      { period: "2024-03-31", announced: "2024-09-30", value: 8 },
    ],
  );
  expect(rows.map(({ revenue, of }) => [revenue, of])).toEqual([
    [null, null],
    [7, "2024-03-31"],
    [15, "2024-06-30"],
    [15, "2024-06-30"],
  ]);
});

test("both statements join, each by its own announcement; bars are neither lost nor doubled", async () => {
  const rows = await lakeWith(
    ["2024-01-02", "2024-05-02", "2024-06-03"],
    [
      { period: "2024-03-31", announced: "2024-04-30", value: 100 },
      { period: "2024-03-31", announced: "2024-04-30", value: 101, seen: "2024-05-01" },
    ],
    [{ period: "2024-03-31", announced: "2024-06-01", value: 7 }],
  );
  expect(rows).toMatchObject([
    { date: "2024-01-02", name: "new", period: null, assets: null, capex: null },
    { date: "2024-05-02", name: "new", period: "2024-03-31", assets: 101, capex: null },
    { date: "2024-06-03", name: "new", period: "2024-03-31", assets: 101, capex: 7 },
  ]);
});

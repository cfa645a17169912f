import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { buildDataset } from "../../../src/dataset/build-dataset.js";
import { type DatasetDefinition, defineDataset } from "../../../src/dataset/spec.js";
import { stageObjects } from "../../../src/lake/land/clear-values.js";
import { upsert } from "../../../src/lake/land/upsert.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { BALANCE_SHEET } from "../../../src/schema/statements.js";
import { land, openSession, T0, temporaryLake } from "../../lake/temporary-lake.js";

interface Version {
  readonly symbol?: string;
  readonly period_end: string;
  readonly announce_date: string | null;
  readonly first_seen_at: string;
  readonly total_assets: number | null;
}

const SPEC: DatasetDefinition = {
  name: "statements",
  universe: ["600519.SH"],
  from: "2026-01-01",
  fields: ["close"],
  format: "qlib",
  statements: ["balance_sheet.total_assets"],
};

/** Builds a dataset over two days, 29 April and 4 May 2026, of a lake with these statements. */
async function build(versions: readonly Version[], definition: Partial<DatasetDefinition> = {}) {
  const [session, lake] = [await openSession(), temporaryLake()];
  const bars = ["2026-04-28T16:00:00Z", "2026-05-03T16:00:00Z"].flatMap((at) =>
    ["600519.SH", "000001.SZ"].map((symbol) => ({ symbol, at })),
  );
  await land(session, lake, BARS_1D, bars);
  const rows = versions.map((version) => ({
    symbol: "600519.SH",
    region: "CN",
    ...version,
    first_seen_at: Date.parse(version.first_seen_at),
  }));
  if (rows.length > 0) {
    await stageObjects(session, "test_statements", BALANCE_SHEET.columns, rows);
    await upsert(session, lake, BALANCE_SHEET, "test_statements", {
      operation: "TEST",
      runId: "test",
      now: T0,
    });
  }
  return await buildDataset(lake, defineDataset({ ...SPEC, ...definition }));
}

/** `[date, period, value]` of each version in an item's file. */
function versionsIn(folder: string, item = "balance_sheet_total_assets", name = "sh600519"): number[][] {
  const bytes = readFileSync(join(folder, "financial", name, `${item}_q.data`));
  return Array.from({ length: bytes.length / 20 }, (_, i) => [
    bytes.readUInt32LE(i * 20),
    bytes.readUInt32LE(i * 20 + 4),
    bytes.readDoubleLE(i * 20 + 8),
  ]);
}

test("every version has the date from which it was known, up to the last label", async () => {
  const { folder, warnings } = await build([
    {
      period_end: "2026-03-31",
      announce_date: "2026-04-30",
      first_seen_at: "2026-05-01T00:00:00Z",
      total_assets: 4,
    },
    {
      period_end: "2025-12-31",
      announce_date: "2026-03-20",
      first_seen_at: "2026-05-01T00:00:00Z",
      total_assets: 1,
    },
    // Seen on 5 May at the exchange, after the last label, and without an announcement.
    { period_end: "2025-12-31", announce_date: null, first_seen_at: "2026-05-04T17:00:00Z", total_assets: 9 },
    {
      period_end: "2025-12-31",
      announce_date: "2026-04-30",
      first_seen_at: "2026-05-01T00:00:00Z",
      total_assets: null,
    },
    // Of one announcement two contents were seen: the later one counts from when it was seen.
    {
      period_end: "2025-12-31",
      announce_date: "2026-04-30",
      first_seen_at: "2026-05-02T00:00:00Z",
      total_assets: 3,
    },
    // Seen on 4 May at the exchange.
    { period_end: "2026-03-31", announce_date: null, first_seen_at: "2026-05-03T17:00:00Z", total_assets: 5 },
    {
      period_end: "2025-12-31",
      announce_date: "2026-04-30",
      first_seen_at: "2026-05-01T00:00:00Z",
      total_assets: 7,
      symbol: "000001.SZ",
    },
  ]);
  expect(versionsIn(folder)).toEqual([
    [20260320, 202504, 1],
    [20260430, 202504, Number.NaN],
    [20260430, 202601, 4],
    [20260502, 202504, 3],
    [20260504, 202601, 5],
  ]);
  expect(readdirSync(join(folder, "financial"))).toEqual(["sh600519"]);
  expect(warnings.filter((text) => text.includes("balance_sheet"))).toEqual([]);
});

test("years of 52 weeks fall into their quarters; of two periods in a quarter the later one holds once it is known", async () => {
  const at = (period_end: string, announce_date: string, total_assets: number): Version => ({
    period_end,
    announce_date,
    first_seen_at: "2026-05-01T00:00:00Z",
    total_assets,
  });
  const { folder } = await build([
    at("2025-12-27", "2026-02-01", 1),
    at("2025-01-03", "2025-02-01", 2),
    at("2025-08-31", "2025-09-10", 3),
    at("2025-09-30", "2025-10-10", 4),
    at("2025-08-31", "2025-11-10", 5),
    at("2025-09-30", "2025-12-10", 6),
  ]);
  expect(versionsIn(folder)).toEqual([
    [20250201, 202404, 2],
    [20250910, 202503, 3],
    [20251010, 202503, 4],
    [20251210, 202503, 6],
    [20260201, 202504, 1],
  ]);
});

test("an item that the lake does not have is refused with those there are", async () => {
  const building = build([], { statements: ["balance_sheet.total_asset"] });
  await expect(building).rejects.toThrow(
    "dataset statements: statements: balance_sheet has no item total_asset",
  );
  await expect(building).rejects.toHaveProperty(
    "hint",
    expect.stringMatching(/^it has .*, total_assets, .*total_liabilities/),
  );
});

test("statements that nobody knows yet make no files, and a warning", async () => {
  const { folder, warnings } = await build([]);
  expect(existsSync(join(folder, "financial"))).toBe(false);
  expect(warnings).toContain("no balance_sheet of its symbols was known by its last day");
});

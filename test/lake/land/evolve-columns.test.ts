import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Session } from "../../../src/db/session/session.js";
import { Lake } from "../../../src/lake/lake.js";
import { landStatements } from "../../../src/lake/land/land-statements.js";
import { Rejects } from "../../../src/lake/land/rejects.js";
import { schemaActions } from "../../../src/lake/log/commit-actions.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { BALANCE_SHEET } from "../../../src/schema/statements.js";
import { land, liveRows, openSession, T0, temporaryLake } from "../temporary-lake.js";

const BAR = { at: "2026-11-02T16:00:00Z" };

/** Lands one statement that has the given fields, as SQL. */
async function landStatement(session: Session, lake: Lake, n: number, fields: string): Promise<number> {
  await session.run(`CREATE OR REPLACE TEMP TABLE staged AS SELECT '600519.SH' AS symbol,
    DATE '2023-03-31' + INTERVAL ${n} MONTH AS period_end, CAST(NULL AS DATE) AS announce_date, 'test' AS source, 1 AS line, ${fields}`);
  await session.run("ALTER TABLE staged ALTER period_end TYPE DATE");
  const options = { operation: "TEST", runId: "test", now: T0 + n };
  return (
    await landStatements(session, lake, BALANCE_SHEET, "staged", {
      ...options,
      rejects: new Rejects(session, "test"),
    })
  ).inserted;
}

test("a new column is added, older files read as null, and a column that is left out remains", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  await landStatement(session, lake, 0, "1.5::DOUBLE AS total_assets");
  await landStatement(session, lake, 1, "2::INTEGER AS total_assets, 'CNY' AS currency, true AS audited");
  await landStatement(session, lake, 2, "NULL AS total_assets");
  const rows = await liveRows(
    session,
    new Lake(lake.location),
    BALANCE_SHEET,
    "SELECT total_assets, currency, audited FROM live ORDER BY period_end",
  );
  expect(rows).toEqual([
    { total_assets: 1.5, currency: null, audited: null },
    { total_assets: 2, currency: "CNY", audited: true },
    { total_assets: null, currency: null, audited: null },
  ]);
  const { columns } = await lake.snapshot(BALANCE_SHEET);
  expect(columns.slice(BALANCE_SHEET.columns.length).map(({ name, type }) => [name, type])).toEqual([
    ["currency", "string"],
    ["audited", "boolean"],
  ]);
});

test.each([
  ["a text for a number", "'12' AS total_assets", "column total_assets: is double, and would become string"],
  ["a number for a text", "7 AS currency", "column currency: is string, and would become int32"],
  ["a long for a double", "7::BIGINT AS total_assets", "is double, and would become int64"],
  ["a type that no lake has", "INTERVAL 1 DAY AS new_field", "column new_field: type INTERVAL"],
])("a column of another type is refused: %s", async (_, fields, message) => {
  const [lake, session] = [temporaryLake(), await openSession()];
  await landStatement(session, lake, 0, "1.5::DOUBLE AS total_assets, 'CNY' AS currency");
  await expect(landStatement(session, lake, 1, fields)).rejects.toThrow(message);
  expect((await lake.snapshot(BALANCE_SHEET)).version).toBe(0);
});

test("a table whose log has another type than this version declares is not written", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  await land(session, lake, BARS_1D, [BAR]);
  const base = await lake.snapshot(BARS_1D);
  const columns = base.columns.map((one) =>
    one.name === "volume" ? { ...one, type: "double" as const } : one,
  );
  const text = schemaActions(base, columns, T0).map((action) => `${JSON.stringify(action)}\n`);
  writeFileSync(join(lake.location, "bars_1d/_delta_log/00000000000000000001.json"), text.join(""));
  await expect(land(session, lake, BARS_1D, [{ ...BAR, close: 10.9 }])).rejects.toThrow(
    "table bars_1d, column volume: is double, and would become int64; a column's type never changes",
  );
  expect((await lake.snapshot(BARS_1D)).version).toBe(1);
});

test("a column that an older lake does not have yet is added with the next landing", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  const older = { ...BARS_1D, columns: BARS_1D.columns.filter(({ name }) => name !== "settlement_price") };
  await land(session, lake, older, [BAR]);
  const fresh = new Lake(lake.location);
  await land(session, fresh, BARS_1D, [{ at: "2026-11-03T16:00:00Z" }]);
  expect((await fresh.snapshot(BARS_1D)).columns.map(({ name }) => name).sort()).toEqual(
    BARS_1D.columns.map(({ name }) => name).sort(),
  );
  const rows = await liveRows(session, fresh, BARS_1D, "SELECT close, settlement_price FROM live");
  expect(rows).toEqual([
    { close: 10.5, settlement_price: null },
    { close: 10.5, settlement_price: null },
  ]);
});

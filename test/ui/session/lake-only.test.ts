import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { QueryError } from "../../../src/core/errors.js";
import type { Reader } from "../../../src/lake/open-reader.js";
import { expectLakeOnly } from "../../../src/ui/session/lake-only.js";
import { openLocked } from "../../../src/ui/session/open-locked.js";
import { sessionLimits } from "../../../src/ui/session/session-limits.js";
import { apiLake } from "../../api/api-lake.js";
import { hostileStatements } from "../../mcp/hostile-statements.js";

const folder = mkdtempSync(join(tmpdir(), "barlake-lake-only-"));
let reader: Reader;
let file: string;

beforeAll(async () => {
  reader = await openLocked(await apiLake(folder), sessionLimits({ threads: 1 }), {});
  const names = readdirSync(join(folder, "bars_1d"), { recursive: true, encoding: "utf8" });
  file = join(folder, "bars_1d", names.find((name) => name.endsWith(".parquet")) ?? "");
});
afterAll(() => {
  reader[Symbol.dispose]();
  rmSync(folder, { recursive: true });
});

test("refuses every statement that reads more than the views, with what to write instead", async () => {
  // The locked session itself lets files of the lake be read.
  expect((await reader.session.rows(`FROM '${file}' LIMIT 1`)).length).toBe(1);
  const passed: string[] = [];
  for (const sql of hostileStatements(file))
    await expectLakeOnly(reader.session, sql, { file }).then(
      () => passed.push(sql),
      (error: unknown) => {
        expect(error, sql).toBeInstanceOf(QueryError);
        expect((error as QueryError).hint, sql).toBeDefined();
      },
    );
  expect(passed).toEqual([]);
});

const PERMITTED = [
  "FROM bars_1d LIMIT 1",
  "TABLE raw.bars_1d",
  'SELECT * EXCLUDE (open) FROM main."BARS_1D" AS b TABLESAMPLE 10%',
  "WITH a AS (SELECT symbol FROM bars_1d), b AS (FROM a) SELECT count(*) FROM a JOIN b USING (symbol)",
  "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 5) FROM n",
  "SELECT * FROM bars_1d WHERE symbol IN (SELECT unnest($symbols::VARCHAR[])) AND trade_date > $day::DATE",
  "FROM adjusted('1w', 'forward')",
  "FROM adjusted('1d', 'forward', as_of := DATE '2026-11-01')",
  "FROM adjusted($period, 'none')",
  "FROM known_versions('raw.income')",
  "FROM named_rows('returns', ['600519.SH', '00700.HK'])",
  "FROM histories($symbols, '1d', 'none')",
  "FROM members('CN_ALL', DATE '2026-11-01')",
  "SELECT symbol, row_number() OVER (PARTITION BY symbol ORDER BY close::DECIMAL(10, 2)) FROM bars_1d QUALIFY true",
  "SELECT * FROM bars_1d PIVOT (sum(close) FOR region IN ('CN', 'HK'))",
  "FROM range(3), unnest([1, 2]), (VALUES (1, 2)) v(a, b), generate_series(1, 2)",
  "SELECT close FROM bars_1d UNION ALL SELECT close FROM bars_1m ORDER BY ALL LIMIT 10%",
];

test("permits queries of views and macros, with constants and bound values", async () => {
  const values = { symbols: ["600519.SH"], day: "2026-11-01", period: "1d" };
  for (const sql of PERMITTED)
    await expect(expectLakeOnly(reader.session, sql, values), sql).resolves.toBeUndefined();
});

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ImportOptions } from "../../src/jobs/import/import-options.js";
import { type ImportTable, runImport } from "../../src/jobs/import/run-import.js";
import { Lake } from "../../src/lake/lake.js";
import { virtualClock } from "../faults/clock/virtual-clock.js";
import { queryLake } from "../lake/temporary-lake.js";

/** Bars as traded, and LEAN's factor files of the same symbols: see the folder's SOURCES.md. */
const FOLDER = resolve(process.env.BARLAKE_REALDATA ?? "../shared/realdata");
const present = existsSync(join(FOLDER, "corp_actions"));
if (!present) console.warn(`skipped: no real data at ${FOLDER}; set BARLAKE_REALDATA to this folder`);

const US = ["AAPL.US", "GOOG.US", "IBM.US", "QQQ.US", "SPY.US"];
const HK = "00700.HK";

/** The lines of a file without its header, as cells. */
function cellsOf(text: string): string[][] {
  const [, ...lines] = text.trim().split("\n");
  return lines.map((line) => line.trim().split(","));
}

const factorFile = (symbol: string): string => join(FOLDER, `corp_actions/us_factor_files/${symbol}.csv`);
const barFile = (symbol: string): string => join(FOLDER, `bars_1d/${symbol}.csv.gz`);
const barsOf = (symbol: string): string[][] => cellsOf(gunzipSync(readFileSync(barFile(symbol))).toString());

/** Of a date, what LEAN multiplies a traded price by: the row of the first date on or after it holds. */
function leanFactor(symbol: string): (date: string) => number {
  const rows = cellsOf(readFileSync(factorFile(symbol), "utf8"));
  return (date) => {
    const row = rows.find(([day = ""]) => date.replaceAll("-", "") <= day) as string[];
    return Number(row[1]) * Number(row[2]);
  };
}

describe.skipIf(!present)("real companies and funds with their real actions", () => {
  const folder = mkdtempSync(join(tmpdir(), "barlake-actions-"));
  const lake = new Lake(join(folder, "lake"), { hasDatabase: false });
  const clock = virtualClock("2026-11-21T00:00:00Z");
  let runs = 0;
  const land = async (table: ImportTable, files: string[], options: ImportOptions = {}): Promise<void> => {
    const { landed } = await runImport(lake, table, files, { ...options, runId: `run-${++runs}` }, clock);
    expect(landed[0]?.inserted).toBeGreaterThan(0);
  };
  const query = <Row>(sql: string): Promise<Row[]> => queryLake<Row>(lake, sql);

  beforeAll(async () => {
    await land("bars_1d", [...US, HK].map(barFile));
    await land("ex_factors", US.map(factorFile));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each(US)("%s: forward closes are LEAN's within the digits of its factors", async (symbol) => {
    const factorOf = leanFactor(symbol);
    const rows = await query<{ day: string; raw: number; close: number }>(
      `SELECT a.trade_date::VARCHAR AS day, b.close AS raw, a.close FROM adjusted('1d', 'forward') AS a
       JOIN bars_1d AS b USING (symbol, trade_date) WHERE symbol = '${symbol}' ORDER BY day`,
    );
    expect(rows.length).toBeGreaterThan(3000);
    // Factors of the days after the last bar are part of LEAN's prices, but of nothing that the lake has bars of.
    const last = factorOf(rows.at(-1)?.day as string);
    // A split factor of 0.00892857 has six digits.
    for (const { day, raw, close } of rows)
      expect(Math.abs(close / ((raw * factorOf(day)) / last) - 1), day).toBeLessThan(1e-6);
  });

  test.each(US)("%s: total returns are those of the dividends that the factors stand for", async (symbol) => {
    const factorOf = leanFactor(symbol);
    const bars = barsOf(symbol);
    const rows = await query<{ day: string; raw: number; close: number }>(
      `SELECT t.trade_date::VARCHAR AS day, b.close AS raw, t.close FROM total_return('1d') AS t
       JOIN bars_1d AS b USING (symbol, trade_date) WHERE symbol = '${symbol}' ORDER BY day`,
    );
    expect(rows.length).toBe(bars.length);
    let shares = 1;
    for (const [n, { day, raw, close }] of rows.entries()) {
      const before = rows[n - 1];
      if (before) shares *= factorOf(day) / factorOf(before.day);
      expect(Math.abs(close / (raw * shares) - 1), day).toBeLessThan(1e-6);
    }
  });

  test("00700.HK: with the factors of its adjusted closes, forward closes are these", async () => {
    const rows = barsOf(HK).map(([ms, , , , close, , , adjusted]) => ({
      day: new Date(Number(ms) + 8 * 3_600_000).toISOString().slice(0, 10),
      close: Number(close),
      ratio: Number(adjusted) / Number(close),
      adjusted: Number(adjusted),
    }));
    // Adjusted closes have four digits after the point, of 40 and more: steps below 1e-4 are none.
    const steps = rows.flatMap(({ day, ratio }, n) => {
      const factor = ratio / (rows[n - 1]?.ratio ?? ratio);
      return Math.abs(factor - 1) > 1e-4 ? [`${HK},${day},${factor}`] : [];
    });
    expect(steps.length).toBeGreaterThan(3);
    const file = join(folder, "factors.csv");
    writeFileSync(file, `symbol,ex_date,factor\n${steps.join("\n")}\n`);
    await land("ex_factors", [file], { source: "vendor" });
    const found = await query<{ close: number }>(
      `SELECT close FROM adjusted('1d', 'forward') WHERE symbol = '${HK}' ORDER BY trade_date`,
    );
    const last = rows.at(-1)?.ratio as number;
    for (const [n, { close }] of found.entries()) {
      const { day, adjusted } = rows[n] as (typeof rows)[number];
      expect(Math.abs((close * last) / adjusted - 1), day).toBeLessThan(2e-5);
    }
  });
});

import { readXlsx } from "hucre/xlsx";
import { expect, test } from "vitest";
import { xlsxOf } from "../../../src/cli/results/xlsx.js";
import { openSession } from "../../lake/temporary-lake.js";

async function workbookOf(sql: string) {
  const session = await openSession();
  const pieces: Uint8Array[] = [];
  for await (const piece of xlsxOf(await session.read(sql))) pieces.push(piece);
  return readXlsx(new Uint8Array(Buffer.concat(pieces)));
}

test("a workbook has Excel's own numbers, dates and times, in UTC; what these cannot represent is text", async () => {
  const workbook = await workbookOf(`SELECT * FROM (VALUES
    ('600519.SH', DATE '2026-11-20', TIMESTAMPTZ '2026-11-20 15:00:00+08', 1453.25::DOUBLE, 9007199254740993, true, '=1+1'),
    ('<&>', DATE '1899-12-31', TIMESTAMPTZ '2026-11-20 00:00:00.5+00', 0.1, -5, false, NULL))
    t(symbol, trade_date, timestamp, close, volume, is_final, note)`);
  expect(workbook.sheets.map(({ name }) => name)).toEqual(["result"]);
  const [head, ...rows] = workbook.sheets[0]?.rows ?? [];
  expect(head).toEqual(["symbol", "trade_date", "timestamp", "close", "volume", "is_final", "note"]);
  expect(rows).toEqual([
    [
      "600519.SH",
      new Date("2026-11-20Z"),
      new Date("2026-11-20T07:00Z"),
      1453.25,
      "9007199254740993",
      true,
      "=1+1",
    ],
    ["<&>", "1899-12-31", new Date("2026-11-20T00:00:00.5Z"), 0.1, -5, false, null],
  ]);
});

test("rows arrive in constant pieces, and a text that is too long for a cell is named", async () => {
  const workbook = await workbookOf("SELECT i FROM range(5000) t(i)");
  expect(workbook.sheets[0]?.rows.slice(-1)).toEqual([[4999]]);
  await expect(
    workbookOf("SELECT CASE WHEN i = 3000 THEN repeat('x', 40000) END AS note FROM range(4000) t(i)"),
  ).rejects.toThrow("row 3001, column note: a text of 40000 characters, and a cell of Excel holds 32767");
});

test("a result that fails midway is an error of the workbook", async () => {
  await expect(
    workbookOf("SELECT CASE WHEN i < 200000 THEN i ELSE error('no more') END AS i FROM range(300000) t(i)"),
  ).rejects.toThrow("no more");
});

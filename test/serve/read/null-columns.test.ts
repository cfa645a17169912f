import { expect, onTestFinished, test } from "vitest";
import { Session } from "../../../src/db/session/session.js";
import { parquetRelation } from "../../../src/db/views/parquet-relation.js";
import type { DataFile } from "../../../src/lake/log/snapshot.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { NullColumns } from "../../../src/serve/read/lake-version.js";
import { type LandedBar, landRows, newLake } from "../served-lake.js";

const bar = (date: string, more: Partial<LandedBar>): LandedBar => ({
  symbol: "600000.SH",
  timestamp: Date.parse(`${date}T00:00+08:00`),
  open: 1,
  high: 2,
  low: 1,
  close: 2,
  volume: 3,
  amount: 4,
  ...more,
});

test("columns that no file has a value of are not read; all others have their values", async () => {
  const { lake, remove } = newLake();
  onTestFinished(remove);
  await landRows(lake, BARS_1D, [bar("2026-11-18", { prev_close: 1.5 }), bar("2026-11-19", {})]);
  const [first] = [...(await lake.snapshot(BARS_1D)).files.values()] as [DataFile];
  await landRows(lake, BARS_1D, [bar("2026-11-20", { open_interest: 7 })]);
  const snapshot = await lake.snapshot(BARS_1D);
  const second = [...snapshot.files.values()].find(({ path }) => path !== first.path) as DataFile;
  using session = await Session.open({ threads: 1 });
  const nullsOf = async (files: readonly DataFile[], leastRows: number): Promise<string[]> => {
    const relation = await parquetRelation(session, lake.filesOf(snapshot, files));
    const sql = await new NullColumns(lake, leastRows).without(relation, session, snapshot, files);
    const rows = (from: string): Promise<unknown> =>
      session.json(`SELECT * FROM (${from}) ORDER BY symbol, "timestamp"`);
    expect(await rows(sql)).toEqual(await rows(relation));
    return [...sql.matchAll(/CAST\(NULL AS DOUBLE\) AS "?(\w+)/g)].map(([, name]) => name as string);
  };
  expect(await nullsOf([first], 2)).toEqual(["open_interest", "settlement_price"]);
  expect(await nullsOf([second], 1)).toEqual(["prev_close", "settlement_price"]);
  expect(await nullsOf([first, second], 3)).toEqual(["settlement_price"]);
  expect(await nullsOf([first, second], 4)).toEqual([]);
});

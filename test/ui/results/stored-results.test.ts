import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { tableFromIPC } from "@uwdata/flechette";
import { expect, onTestFinished, test } from "vitest";
import { StoredResults } from "../../../src/ui/results/stored-results.js";
import { openSession } from "../../lake/temporary-lake.js";

const SQL = `SELECT i, i / 4 AS quarter, 'row ' || i AS name, DATE '2026-01-01' + (i % 365)::INT AS day,
  CASE WHEN i % 2 = 0 THEN i::DECIMAL(9, 2) END AS amount, [i, i + 1] AS pair FROM range(1000000) t(i)`;

async function kept(...statements: readonly string[]) {
  const results = new StoredResults();
  onTestFinished(() => results[Symbol.dispose]());
  const { engine, take } = results.storing(await openSession({ threads: 2 }));
  for (const sql of statements) await engine.result(sql, new Map(), 3);
  return { results, engine, all: take(), take };
}

async function bytesOf(content: AsyncIterable<Uint8Array> | undefined): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of content ?? []) pieces.push(piece);
  return Buffer.concat(pieces);
}

test("a million rows are stored, and come in windows from any offset", async () => {
  const { results, all } = await kept(SQL);
  expect(all).toMatchObject([{ rows: 1_000_000 }]);
  const id = all[0]?.id ?? "";
  const window = await results.rowsOf(id, 999_998, 100);
  expect(window).toMatchObject({ from: 999_998, rows: 1_000_000 });
  expect(window?.columns.map((column) => column[1])).toEqual([
    "999,999",
    "249,999.75",
    "row 999999",
    "2026-09-22",
    null,
    "[999999, 1000000]",
  ]);
  expect((await results.rowsOf(id, 5, 10_000))?.columns[0]).toHaveLength(500);
  expect((await results.rowsOf(id, 2_000_000, 10))?.columns[0]).toEqual([]);
});

test("a result is exported as CSV, Parquet and Arrow, and no file is left", async () => {
  const { results, all } = await kept(SQL.replace("1000000", "1000"));
  const id = all[0]?.id ?? "";
  const before = readdirSync(tmpdir()).filter((name) => name.startsWith("barlake-export-"));
  const csv = (await bytesOf(await results.export(id, "csv"))).toString().split("\n");
  expect([csv[0], csv[1], csv.length]).toEqual([
    "i,quarter,name,day,amount,pair",
    '0,0.0,row 0,2026-01-01,0.00,"[0, 1]"',
    1002,
  ]);
  const parquet = await bytesOf(await results.export(id, "parquet"));
  expect(parquet.subarray(0, 4).toString() + parquet.subarray(-4).toString()).toBe("PAR1PAR1");
  const arrow = tableFromIPC(await bytesOf(await results.export(id, "arrow")));
  expect([arrow.numRows, arrow.getChild("i").at(999)]).toEqual([1000, 999]);
  const after = readdirSync(tmpdir()).filter((name) => name.startsWith("barlake-export-"));
  expect(after).toEqual(before);
});

test("statements without rows are not stored, and neither is a result that failed", async () => {
  const { engine, take, all } = await kept(
    "CREATE TABLE t AS SELECT 1",
    "FROM t WHERE false",
    "FROM t",
    "SET VARIABLE v = 1",
  );
  expect(all.map(({ rows }) => rows)).toEqual([1]);
  const failing = "SELECT CASE WHEN i > 100000 THEN error('late') END FROM range(200000) t(i)";
  await expect(engine.result(failing, new Map(), 3)).rejects.toThrow("late");
  expect(take()).toEqual([]);
});

test("a result that is too large to be stored is reported without an id, and those after it are stored", async () => {
  const results = new StoredResults({ memory: "16MB", spilled: "1MB" });
  onTestFinished(() => results[Symbol.dispose]());
  const { engine, take } = results.storing(await openSession({ threads: 2 }));
  await engine.result("SELECT hash(i) || '' || hash(-i) AS h FROM range(1000000) t(i)", new Map(), 3);
  await engine.result("SELECT 1 AS one", new Map(), 3);
  expect(take()).toEqual([
    { id: null, rows: 1_000_000 },
    { id: expect.any(String) as string, rows: 1 },
  ]);
});

test("the oldest results go", async () => {
  const { results, all } = await kept(...Array.from({ length: 42 }, (_, n) => `SELECT ${n} AS n`));
  const first = await Promise.all(all.slice(0, 3).map(({ id }) => results.rowsOf(id ?? "", 0, 1)));
  expect(first.map((window) => window?.columns[0]?.[0])).toEqual([undefined, undefined, "2"]);
  expect(await results.export(all[0]?.id ?? "", "csv")).toBeUndefined();
  expect(await results.rowsOf("'; DROP TABLE x", 0, 1)).toBeUndefined();
});

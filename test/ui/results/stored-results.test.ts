import { mkdirSync, mkdtempSync, readdirSync, rmSync, watch, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tableFromIPC } from "@uwdata/flechette";
import { afterAll, expect, test, vi } from "vitest";
import { Session } from "../../../src/db/session/session.js";
import { Lake } from "../../../src/lake/lake.js";
import type { ResultReport, RowsReport } from "../../../src/ui/page-data.js";
import type { RowsChoice } from "../../../src/ui/process/jobs.js";
import { QueryProcesses } from "../../../src/ui/process/query-processes.js";
import { ResultFiles, ResultReader } from "../../../src/ui/results/result-files.js";
import { StoredResults } from "../../../src/ui/results/stored-results.js";
import { openSession } from "../../lake/temporary-lake.js";
import { PATIENT } from "../patient-session.js";

const SQL = `SELECT i, i / 4 AS quarter, 'row ' || i AS name, DATE '2026-01-01' + (i % 365)::INT AS day,
  CASE WHEN i % 2 = 0 THEN i::DECIMAL(9, 2) END AS amount, [i, i + 1] AS pair FROM range(130000) t(i)`;

const folder = mkdtempSync(join(tmpdir(), "barlake-results-"));
const processes = new QueryProcesses(new Lake(folder), new Lake(folder).clock, PATIENT);
afterAll(async () => {
  await processes[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});
const { signal } = new AbortController();

/** Stores the results of statements as a run does. */
async function stored(statements: readonly string[], mostBytes?: number) {
  const results = new StoredResults(processes, mostBytes);
  const spill = join(folder, "spill");
  mkdirSync(spill, { recursive: true });
  const place = { ownResults: mkdtempSync(join(folder, "own-")), spill };
  const session = await openSession({ threads: 2 });
  const all: ResultReport[] = [];
  const files = new ResultFiles(place);
  for (const sql of statements) {
    using share = results.share();
    const engine = await files.storing(session, share.bytes, (result) => share.add(result, place.ownResults));
    await engine.result(sql, new Map(), 3);
    all.push(...files.take());
  }
  const rowsOf = async (
    id: string | null | undefined,
    from: number,
    count: number,
    choice?: Parameters<StoredResults["rowsOf"]>[3],
  ) => {
    const text = await results.rowsOf(id ?? "", from, count, choice);
    return text === undefined ? undefined : (JSON.parse(text) as RowsReport);
  };
  return { results, session, all, rowsOf };
}

/** The files of results and exports in the folder of the workspace. */
const filesOfWorkspace = (): string[] =>
  readdirSync(processes.folder, { withFileTypes: true }).flatMap((one) => (one.isFile() ? [one.name] : []));

async function bytesOf(content: AsyncIterable<Uint8Array> | undefined): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of content ?? []) pieces.push(piece);
  return Buffer.concat(pieces);
}

test("all rows are ordered by a column, and filtered by a text of any value", async () => {
  const { all, rowsOf } = await stored([SQL]);
  const [{ id } = { id: "" }] = all;
  const first = async (choice: Parameters<typeof rowsOf>[3], from = 0): Promise<unknown> => {
    const { rows, columns } = (await rowsOf(id, from, 2, choice)) ?? { rows: 0, columns: [] };
    return [rows, columns[0], columns[4]];
  };
  expect(await first({ column: 0, isDescending: true })).toEqual([
    130_000,
    ["129,999", "129,998"],
    [null, "129,998"],
  ]);
  // Nulls are last in both directions; rows with the same value remain in their order.
  expect(await first({ column: 4 }, 64_999)).toEqual([130_000, ["129,998", "1"], ["129,998", null]]);
  expect(await first({ column: 4, isDescending: true })).toEqual([
    130_000,
    ["129,998", "129,996"],
    ["129,998", "129,996"],
  ]);
  expect(await first({ contains: "ROW 12999" })).toEqual([11, ["12,999", "129,990"], [null, "129,990"]]);
  expect(await first({ contains: "'; DROP TABLE" })).toEqual([0, [], []]);
  await expect(rowsOf(id, 0, 1, { column: 6 })).rejects.toThrow("no column 6");
});

test("a choice is ordered and filtered once, however many of its rows are read", async () => {
  const { all } = await stored([SQL.replace("130000", "1000"), "SELECT 7 - i AS i FROM range(5) t(i)"]);
  const [large = "", small = ""] = all.map(({ id }) => id ?? "");
  using ordering = vi.spyOn(Session.prototype, "run");
  const reader = new ResultReader({ results: processes.folder, spill: join(folder, "spill") });
  const read = async (id: string, from: number, choice: RowsChoice): Promise<unknown> => {
    const rows = id === large ? 1000 : 5;
    const text = await reader.rows({ kind: "rows", id, rows, from, count: 2, ...choice });
    return (JSON.parse(text) as RowsReport).columns[0];
  };
  const builds = (): number => ordering.mock.calls.filter(([sql]) => sql.includes("ORDER BY")).length;
  const down = { column: 0, isDescending: true };
  expect(await read(large, 0, down)).toEqual(["999", "998"]);
  expect(await read(large, 500, down)).toEqual(["499", "498"]);
  expect(await read(large, 998, down)).toEqual(["1", "0"]);
  expect(builds()).toBe(1);
  expect(await read(large, 0, { contains: "ROW 99" })).toEqual(["99", "990"]);
  expect(await read(large, 9, { contains: "ROW 99" })).toEqual(["998", "999"]);
  expect(builds()).toBe(2);
  // Another result, and a choice of before.
  expect(await read(small, 0, down)).toEqual(["7", "6"]);
  expect(await read(large, 0, down)).toEqual(["999", "998"]);
  expect(builds()).toBe(4);
});

test("rows of several groups are stored, and come in windows from any offset", async () => {
  const { all, rowsOf } = await stored([SQL]);
  expect(all).toMatchObject([{ rows: 130_000 }]);
  const id = all[0]?.id;
  const window = await rowsOf(id, 129_998, 100);
  expect(window).toMatchObject({ from: 129_998, rows: 130_000 });
  expect(window?.columns.map((column) => column[1])).toEqual([
    "129,999",
    "32,499.75",
    "row 129999",
    "2026-03-01",
    null,
    "[129999, 130000]",
  ]);
  expect((await rowsOf(id, 5, 10_000))?.columns[0]).toHaveLength(500);
  expect((await rowsOf(id, 2_000_000, 10))?.columns[0]).toEqual([]);
});

test("a result has every type and name, and two thousand columns", async () => {
  const columns = Array.from({ length: 2000 }, (_, n) => `${n} + i AS c${n}`).join(", ");
  const { all, rowsOf } = await stored([
    "SELECT * FROM test_all_types()",
    'SELECT NULL AS "a ""b", 1 AS x, 2 AS x',
    `SELECT ${columns} FROM range(2100) t(i)`,
  ]);
  expect(all.map(({ id, rows }) => [id !== null, rows])).toEqual([
    [true, 3],
    [true, 1],
    [true, 2100],
  ]);
  expect((await rowsOf(all[1]?.id, 0, 1))?.columns).toEqual([[null], ["1"], ["2"]]);
  expect((await rowsOf(all[2]?.id, 2099, 1))?.columns.at(-1)).toEqual(["4098"]);
});

test("a result is exported as CSV, Parquet and Arrow, and no file is left", async () => {
  const { results, all } = await stored([SQL.replace("130000", "1000")]);
  const id = all[0]?.id ?? "";
  const before = filesOfWorkspace();
  const csv = (await bytesOf(await results.export(id, "csv", signal))).toString().split("\n");
  expect([csv[0], csv[1], csv.length]).toEqual([
    "i,quarter,name,day,amount,pair",
    '0,0.0,row 0,2026-01-01,0.00,"[0, 1]"',
    1002,
  ]);
  const parquet = await bytesOf(await results.export(id, "parquet", signal));
  expect(parquet.subarray(0, 4).toString() + parquet.subarray(-4).toString()).toBe("PAR1PAR1");
  const arrow = tableFromIPC(await bytesOf(await results.export(id, "arrow", signal)));
  expect([arrow.numRows, arrow.getChild("i").at(999)]).toEqual([1000, 999]);
  expect(filesOfWorkspace()).toEqual(before);
});

test("an export that its page no longer needs is ended, and leaves no file", async () => {
  const { results, all } = await stored([SQL]);
  const before = filesOfWorkspace();
  const page = new AbortController();
  const isBegun = new Promise<void>((resolve) => {
    const watcher = watch(processes.folder, (_, name) => {
      if (name?.endsWith(".csv") !== true) return;
      watcher.close();
      resolve();
    });
  });
  const content = results.export(all[0]?.id ?? "", "csv", page.signal);
  await isBegun;
  page.abort(new Error("the page has gone"));
  // A busy machine may have written all of it before this process notices that it has begun.
  const outcome = await content.then(
    (stream) => ({ isClosed: stream?.destroyed }),
    (error: Error) => error.message,
  );
  expect(["the page has gone", { isClosed: true }]).toContainEqual(outcome);
  expect(filesOfWorkspace()).toEqual(before);
});

test("an export that nobody reads leaves no file, and is closed when its page goes", async () => {
  const { results, all } = await stored(["SELECT 1 AS one"]);
  const before = filesOfWorkspace();
  const page = new AbortController();
  const content = await results.export(all[0]?.id ?? "", "csv", page.signal);
  expect(filesOfWorkspace()).toEqual(before);
  const closed = new Promise((resolve) => content?.once("close", resolve));
  page.abort(new Error("the page has gone"));
  await closed;
  await expect(results.export(all[0]?.id ?? "", "csv", page.signal)).rejects.toThrow("the page has gone");
});

test("statements without rows are not stored, and neither is a result that failed", async () => {
  const { all, session } = await stored([
    "CREATE TABLE t AS SELECT 1",
    "FROM t WHERE false",
    "FROM t",
    "SET VARIABLE v = 1",
  ]);
  expect(all.map(({ rows }) => rows)).toEqual([1]);
  const place = { ownResults: mkdtempSync(join(folder, "failed-")), spill: folder };
  const files = new ResultFiles(place);
  const engine = await files.storing(session, 1e9, () => {});
  const failing = "SELECT CASE WHEN i > 100000 THEN error('late') END FROM range(200000) t(i)";
  await expect(engine.result(failing, new Map(), 3)).rejects.toThrow("late");
  expect([files.take(), readdirSync(place.ownResults)]).toEqual([[], []]);
});

test("a result that is too large to be stored is reported without an id, and those after it are stored", async () => {
  const large = "SELECT hash(i) || '' || hash(-i) AS h FROM range(300000) t(i)";
  const { all } = await stored([large, "SELECT 1 AS one"], 1e7);
  expect(all).toEqual([
    { id: null, rows: 300_000, mostBytes: 5_000_000 },
    { id: expect.any(String) as string, rows: 1 },
  ]);
});

test("the runs at the same time share what is free, and give back what they do not use", async () => {
  const results = new StoredResults(processes, 1000);
  {
    using first = results.share();
    using second = results.share();
    expect([first.bytes, second.bytes]).toEqual([500, 500]);
    const ownResults = mkdtempSync(join(folder, "own-"));
    writeFileSync(join(ownResults, "one.duckdb"), "");
    first.add({ id: "one", rows: 1, bytes: 400 }, ownResults);
    second[Symbol.dispose]();
    using third = results.share();
    expect(third.bytes).toBe(500);
  }
  using next = results.share();
  expect(next.bytes).toBe(300);
});

test("older results make room for new ones, in number and in size", async () => {
  const many = await stored(Array.from({ length: 42 }, (_, n) => `SELECT ${n} AS n`));
  const first = await Promise.all(many.all.slice(0, 3).map(({ id }) => many.rowsOf(id, 0, 1)));
  expect(first.map((window) => window?.columns[0]?.[0])).toEqual([undefined, undefined, "2"]);
  expect(await many.results.export(many.all[0]?.id ?? "", "csv", signal)).toBeUndefined();
  expect(await many.rowsOf("'; DROP TABLE x", 0, 1)).toBeUndefined();
  const few = await stored(
    Array.from({ length: 4 }, () => SQL.replace("130000", "100000")),
    3e7,
  );
  const left = await Promise.all(few.all.map(({ id }) => few.rowsOf(id, 0, 1)));
  expect(few.all.map(({ id }) => id)).not.toContain(null);
  expect(left.map((window) => window !== undefined)).toEqual([false, false, true, true]);
  expect(left.length).toBeGreaterThan(0);
});

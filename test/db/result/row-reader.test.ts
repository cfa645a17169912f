import { expect, test } from "vitest";
import { openSession } from "../../lake/temporary-lake.js";

test("takes rows as they are asked for, and knows whether there are more", async () => {
  const session = await openSession();
  const reader = await session.read("SELECT i FROM range(5000) t(i)");
  expect(reader.kind).toBe("rows");
  expect(reader.columns).toEqual([{ name: "i", type: "BIGINT" }]);
  expect(await reader.take(3)).toEqual([["0"], ["1"], ["2"]]);
  expect(await reader.hasMore()).toBe(true);
  expect(await reader.take(1)).toEqual([["3"]]);
  expect(await reader.take(10_000)).toHaveLength(4996);
  expect(await reader.hasMore()).toBe(false);
  expect(await reader.take(1)).toEqual([]);
});

test("recognizes statements that give no rows", async () => {
  const session = await openSession();
  expect((await session.read("CREATE TABLE t (a INT)")).kind).toBe("nothing");
  const inserted = await session.read("INSERT INTO t VALUES (1), (2)");
  expect(inserted.kind).toBe("changes");
  expect(await inserted.take(1)).toEqual([["2"]]);
  expect((await session.read("FROM t WHERE false")).kind).toBe("rows");
});

test("gives values of every type as DuckDB's text has them", async () => {
  const session = await openSession();
  const [columns] = await session.json<{ names: string[] }>(
    `SELECT list(column_name) AS names FROM (DESCRIBE FROM test_all_types())
     WHERE column_name NOT IN ('double', 'double_array', 'geometry', 'float', 'varchar', 'timestamp_ns', 'timestamp_tz')
       AND column_type NOT LIKE '%[%' AND column_type NOT LIKE 'STRUCT%' AND column_type NOT LIKE 'MAP%'`,
  );
  const names = columns?.names ?? [];
  expect(names.length).toBeGreaterThan(25);
  const selected = names.map((name) => `"${name}"`).join(", ");
  const texts = names.map((name) => `"${name}"::VARCHAR`).join(", ");
  const ours = await (await session.read(`SELECT ${selected} FROM test_all_types()`)).take(9);
  const theirs = await (await session.read(`SELECT ${texts} FROM test_all_types()`)).take(9);
  expect(ours.map((row) => row.map((value) => (value === null ? null : String(value))))).toEqual(theirs);
});

test("gives instants in UTC, in any zone of the machine", async () => {
  const session = await openSession();
  const reader = await session.read(
    "SELECT TIMESTAMPTZ '2026-11-20 15:00:00.5+08', TIMESTAMPTZ '-infinity', [TIMESTAMPTZ '2026-11-20 15:00:00+08']",
  );
  expect(await reader.take(1)).toEqual([
    ["2026-11-20 07:00:00.5+00", "-infinity", "[2026-11-20 07:00:00+00]"],
  ]);
});

test("gives numbers as few digits as distinguish them, and infinities as text", async () => {
  const session = await openSession();
  const reader = await session.read(
    "SELECT 0.1::FLOAT, 16777217::FLOAT, 0.1::DOUBLE, 'nan'::DOUBLE, '-inf'::FLOAT",
  );
  expect(await reader.take(1)).toEqual([[0.1, 16777216, 0.1, "NaN", "-Infinity"]]);
});

test("a query that fails midway throws with its SQL", async () => {
  const session = await openSession();
  const sql = "SELECT CASE WHEN i < 30000 THEN i ELSE error('too far') END FROM range(40000) t(i)";
  await expect(session.read(sql).then((reader) => reader.take(40_000))).rejects.toMatchObject({ sql });
});

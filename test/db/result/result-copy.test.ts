import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { literal } from "../../../src/db/quote.js";
import { makeEmptyDatabase, type ResultCopy } from "../../../src/db/result/read-result.js";
import { openSession } from "../../lake/temporary-lake.js";

const folder = mkdtempSync(join(tmpdir(), "barlake-copy-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A session that copies results of another one, one after another, into files. */
async function opened(name: string) {
  const [session, source] = [await openSession({ threads: 1 }), await openSession({ threads: 1 })];
  const empty = join(folder, `${name}-empty.duckdb`);
  await makeEmptyDatabase(session, empty);
  const copied = async (file: string, sql: string, beforeEnd = async () => {}): Promise<ResultCopy> => {
    const copy = session.copyInto({ file, empty, table: "result", isFull: () => false });
    await source.result(sql, new Map(), 3, copy);
    await beforeEnd();
    await copy.end();
    return copy;
  };
  return { session, copied };
}

test("names of columns that differ in nothing or in case only are numbered", async () => {
  const { session, copied } = await opened("names");
  const file = join(folder, "names.duckdb");
  const { isWhole } = await copied(file, 'SELECT 1 AS a, 2 AS a, 3 AS "A", 4 AS "a:1", 5 AS b');
  expect(isWhole).toBe(true);
  await session.run(`ATTACH ${literal(file)} AS copied (READ_ONLY)`);
  expect(await session.json("FROM copied.result")).toEqual([{ a: 1, "a:1": 2, "A:2": 3, "a:1:1": 4, b: 5 }]);
});

test("a file that cannot be detached does not prevent the copies after it", async () => {
  const { session, copied } = await opened("detach");
  const stuck = join(folder, "stuck.duckdb");
  // DuckDB does not detach the database that statements use by default.
  const use = async (): Promise<void> => {
    const path = literal(stuck);
    const [found] = await session.json<{ name: string }>(
      `SELECT database_name AS name FROM duckdb_databases() WHERE path = ${path}`,
    );
    await session.run(`USE ${found?.name}`);
  };
  expect((await copied(stuck, "SELECT 1 AS one", use)).isWhole).toBe(false);
  expect((await copied(join(folder, "next.duckdb"), "SELECT 2 AS two")).isWhole).toBe(true);
});

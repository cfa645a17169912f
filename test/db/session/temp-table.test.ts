import { expect, test } from "vitest";
import { Session, TempTable } from "../../../src/db/session/session.js";

const tablesOf = async (session: Session): Promise<string[]> =>
  (await session.json<{ name: string }>("SELECT table_name AS name FROM duckdb_tables()")).map(
    ({ name }) => name,
  );

test("temporary tables of one purpose do not meet, and end with their blocks", async () => {
  using session = await Session.open({ threads: 1 });
  {
    await using one = new TempTable(session, "rows");
    await using two = new TempTable(session, "rows");
    await one.fill("SELECT 1 AS n");
    await two.define("n INTEGER");
    expect(one.name).not.toBe(two.name);
    expect(await session.json(`SELECT n FROM ${one.name} UNION ALL SELECT n FROM ${two.name}`)).toEqual([
      { n: 1 },
    ]);
    await one.fill(`SELECT n + $1::INTEGER AS n FROM ${one.name}`, [1]);
    expect(await session.json(`FROM ${one.name}`)).toEqual([{ n: 2 }]);
    await two.drop();
    expect(await tablesOf(session)).toEqual([one.name]);
  }
  expect(await tablesOf(session)).toEqual([]);
});

test("a table that nothing can have created is not dropped, and one that was created by its name is", async () => {
  using session = await Session.open({ threads: 1 });
  const statements: string[] = [];
  const run: Session["run"] = (sql, bindings) => {
    statements.push(sql);
    return session.run(sql, bindings);
  };
  {
    await using _ = new TempTable({ run }, "rows");
    await using named = new TempTable({ run }, "rows");
    await session.run(`CREATE TEMP TABLE ${named.name} AS SELECT 1 AS n`);
  }
  expect(statements).toHaveLength(1);
  expect(await tablesOf(session)).toEqual([]);
});

test("the error of a block is its own, also where its table cannot be dropped any more", async () => {
  const session = await Session.open({ threads: 1 });
  const work = async (): Promise<void> => {
    await using rows = new TempTable(session, "rows");
    await rows.fill("SELECT 1 AS n");
    session.close();
    throw new Error("the work failed");
  };
  await expect(work()).rejects.toThrow(/^the work failed$/);
});

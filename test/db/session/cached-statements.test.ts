import type { RecordBatch } from "apache-arrow";
import { expect, onTestFinished, test } from "vitest";
import { type Bindings, Session } from "../../../src/db/session/session.js";

async function open(): Promise<Session> {
  const session = await Session.open({ threads: 1 });
  onTestFinished(() => session.close());
  return session;
}

async function rowsOf(session: Session, sql: string, bindings?: Bindings): Promise<unknown[]> {
  const batches: RecordBatch[] = [];
  for await (const batch of await session.batches(sql, bindings)) batches.push(batch);
  return batches.flatMap((batch) => batch.toArray().map((row) => row?.toJSON()));
}

test("a statement that is run again takes the values that are given then, and their types", async () => {
  const session = await open();
  const sql = "SELECT $a AS a";
  expect(await rowsOf(session, sql, { a: "one" })).toEqual([{ a: "one" }]);
  expect(await rowsOf(session, sql, { a: "two" })).toEqual([{ a: "two" }]);
  expect(await rowsOf(session, sql, { a: 1.5 })).toEqual([{ a: 1.5 }]);
  await expect(rowsOf(session, sql)).rejects.toThrow(/[Vv]alues were not provided.*a/);
  expect(await rowsOf(session, sql, { a: "three" })).toEqual([{ a: "three" }]);
});

test("it sees views and tables as they are at each run", async () => {
  const session = await open();
  await session.run("CREATE VIEW v AS SELECT 1 AS n");
  expect(await rowsOf(session, "FROM v")).toEqual([{ n: 1 }]);
  await rowsOf(session, "CREATE OR REPLACE VIEW v AS SELECT 'text' AS other");
  expect(await rowsOf(session, "FROM v")).toEqual([{ other: "text" }]);
  await session.run("DROP VIEW v");
  await expect(rowsOf(session, "FROM v")).rejects.toThrow(/Table with name v does not exist/);
});

test("any number of statements, several in one text, and those that are not valid", async () => {
  const session = await open();
  for (let n = 0; n < 40; n++) expect(await rowsOf(session, `SELECT ${n} AS n`)).toEqual([{ n }]);
  expect(await rowsOf(session, "SELECT 0 AS n")).toEqual([{ n: 0 }]);
  expect(await rowsOf(session, "CREATE TABLE t AS SELECT 5 AS n; FROM t")).toEqual([{ n: 5 }]);
  for (let again = 0; again < 2; again++)
    await expect(rowsOf(session, "SELECT nothing FROM t")).rejects.toMatchObject({
      message: expect.stringContaining('Referenced column "nothing" not found'),
      sql: "SELECT nothing FROM t",
    });
});

test("one whose result was not read to its end, or was interrupted, runs again", async () => {
  const session = await open();
  const sql = "SELECT i FROM range(20_000) t(i)";
  const batches = await session.batches(sql);
  await batches.next();
  await batches.return();
  expect(await rowsOf(session, sql)).toHaveLength(20_000);
  const slow = "SELECT count(*) AS n FROM range(100_000_000) a(i), range($n) b(j) WHERE i % 3 = j % 5";
  const running = rowsOf(session, slow, { n: 1000 });
  const timer = setInterval(() => session.interrupt(), 5);
  await expect(running).rejects.toThrow(/Interrupted/);
  clearInterval(timer);
  expect(await rowsOf(session, slow, { n: 0 })).toEqual([{ n: 0n }]);
});

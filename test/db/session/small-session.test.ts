import { expect, test } from "vitest";
import type { Session } from "../../../src/db/session/session.js";
import { withSmallSession } from "../../../src/db/session/small-session.js";

const attach = (session: Session) => session.run("ATTACH ':memory:' AS mark");
const isMarked = (session: Session) =>
  session.json("FROM duckdb_databases() WHERE database_name = 'mark'").then((rows) => rows.length > 0);

test("uses share a database, each with its own temporary tables; after one that failed comes another database", async () => {
  await withSmallSession(attach);
  const found = await withSmallSession(async (session) => {
    await session.run("CREATE TEMP TABLE t AS SELECT 1");
    return [await isMarked(session), await withSmallSession(isMarked)];
  });
  expect(found).toEqual([true, true]);
  await withSmallSession((session) => session.run("CREATE TEMP TABLE t AS SELECT 2"));
  const failed = withSmallSession(async (session) => {
    const fails = withSmallSession((other) => other.run("FROM nowhere"));
    await expect(fails).rejects.toThrow("nowhere");
    // This use began before the other one failed, and ends in the database in which it began.
    expect(await isMarked(session)).toBe(true);
    throw new Error("the work failed");
  });
  await expect(failed).rejects.toThrow("the work failed");
  expect(await withSmallSession(isMarked)).toBe(false);
});

import { beforeAll, describe, expect, test } from "vitest";
import { QueryError } from "../../../src/core/errors.js";
import { Session } from "../../../src/db/session/session.js";
import { openSession } from "../../lake/temporary-lake.js";

/** Fails at row 600,000, far behind what a stream computes ahead of its reader. */
const ROWS = 600_000;
const FAILING = `SELECT CASE WHEN i = ${ROWS} THEN error('the reason') ELSE i END AS v FROM range(${2 * ROWS}) t(i)`;

let session: Session;
beforeAll(async () => {
  session = await Session.open({ threads: 1 });
  return () => session.close();
});

describe("a query that fails after its first rows throws with its reason and its SQL", () => {
  const expected = { sql: FAILING, message: expect.stringContaining("the reason") as string };

  test("as chunks", async () => {
    const result = await session.stream(FAILING);
    let rows = 0;
    const take = async (): Promise<void> => {
      for (let chunk = await result.fetchChunk(); chunk?.rowCount; chunk = await result.fetchChunk())
        rows += chunk.rowCount;
    };
    await expect(take()).rejects.toMatchObject(expected);
    expect(rows).toBeGreaterThan(0);
    // And again: a failed result never becomes a finished one.
    await expect(result.fetchChunk()).rejects.toMatchObject(expected);
  });

  test("as the client's own ways to take a result", async () => {
    const taken = async (): Promise<void> => {
      for await (const rows of (await session.stream(FAILING)).yieldRows()) expect(rows).not.toEqual([]);
    };
    await expect(taken()).rejects.toMatchObject(expected);
    await expect((await session.stream(FAILING)).getRows()).rejects.toMatchObject(expected);
    await expect((await session.stream(FAILING)).getColumnsObjectJson()).rejects.toMatchObject(expected);
  });

  test("as plain rows", async () => {
    const reader = await session.read(FAILING);
    await expect(reader.take(2 * ROWS)).rejects.toMatchObject(expected);
    const other = await session.read(FAILING);
    await other.take(10);
    const toEnd = async (): Promise<void> => {
      while (await other.hasMore()) await other.take(10_000);
    };
    await expect(toEnd()).rejects.toMatchObject(expected);
  });

  test("as record batches", async () => {
    const taken = async (): Promise<void> => {
      for await (const batch of await session.batches(FAILING)) expect(batch.numRows).toBeGreaterThan(0);
    };
    await expect(taken()).rejects.toMatchObject(expected);
  });

  test("as the first rows of a whole result", async () => {
    await expect(session.result(FAILING, new Map(), 5)).rejects.toMatchObject(expected);
    await expect(session.preview(FAILING, 2 * ROWS)).rejects.toMatchObject(expected);
  });

  test("with bound values, and with the line of a part of the query", async () => {
    const bound = `SELECT CASE WHEN i = $at THEN error($why) ELSE i END AS v FROM range(${2 * ROWS}) t(i)`;
    const reader = await session.read(bound, { at: ROWS, why: "bound reason" });
    await expect(reader.take(2 * ROWS)).rejects.toThrow("bound reason");
    const cast = `SELECT\n  CASE WHEN i = ${ROWS} THEN ('x' || i)::INTEGER END AS v\nFROM range(${2 * ROWS}) t(i)`;
    await expect(session.read(cast).then((one) => one.take(2 * ROWS))).rejects.toThrow(
      /Could not convert string 'x600000'[^]*LINE 2:/,
    );
  });
});

test("a result that ended is whole, also one without rows", async () => {
  expect(await (await session.read("SELECT 1 WHERE false")).take(5)).toEqual([]);
  const result = await session.stream(`FROM range(${ROWS})`);
  expect(await result.getRows()).toHaveLength(ROWS);
  expect((await result.fetchChunk())?.rowCount).toBe(0);
});

test("a result that another statement or an interrupt stopped throws", async () => {
  const own = await openSession();
  const sql = `FROM range(${2 * ROWS})`;
  const first = await own.read(sql);
  await first.take(1);
  await own.run("SELECT 1");
  const stopped: unknown = await first.take(2 * ROWS).catch((error: unknown) => error);
  expect(stopped).toBeInstanceOf(QueryError);
  expect(stopped).toMatchObject({
    sql,
    message: expect.stringMatching(/^the result stopped after \d+ rows$/),
  });
  const second = await own.read(sql);
  await second.take(1);
  own.interrupt();
  await expect(second.take(2 * ROWS)).rejects.toThrow("INTERRUPT Error: Interrupted!");
});

test("a statement that changes rows does not run twice for its reason", async () => {
  const own = await openSession();
  await own.run("CREATE TABLE t (v BIGINT); CREATE SEQUENCE tries");
  const sql = `SELECT nextval('tries'); INSERT INTO t SELECT CASE WHEN i = 5000 THEN error('late') ELSE i END FROM range(9000) r(i) RETURNING v`;
  await expect(own.read(sql).then((reader) => reader.take(9000))).rejects.toBeInstanceOf(QueryError);
  expect(await own.rows("SELECT nextval('tries') AS n")).toEqual([{ n: 2n }]);
});

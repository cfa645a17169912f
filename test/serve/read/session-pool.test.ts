import { expect, test } from "vitest";
import { SessionPool } from "../../../src/serve/read/session-pool.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";

test("lends each connection to one at a time, and no more than it has", async () => {
  const pool = await SessionPool.open(2, { threads: 1 });
  let lent = 0;
  let most = 0;
  const responses = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      pool.use(async (session) => {
        most = Math.max(most, ++lent);
        const [row] = await session.json<{ n: number }>(`SELECT ${n} AS n`);
        lent -= 1;
        return row?.n;
      }),
    ),
  );
  expect(responses).toEqual(Array.from({ length: 20 }, (_, n) => n));
  expect(most).toBe(2);
  await pool.close();
});

test("gives a connection back after a failure", async () => {
  const pool = await SessionPool.open(1, { threads: 1 });
  await expect(pool.use((session) => session.run("SELECT nonsense"))).rejects.toThrow("nonsense");
  expect(await pool.use((session) => session.json("SELECT 1 AS one"))).toEqual([{ one: 1 }]);
  await pool.close();
});

test("stops a statement that nobody waits for any more", async () => {
  const pool = await SessionPool.open(1, { threads: 1 });
  const controller = new AbortController();
  const endless = pool.use(async (session) => {
    const running = session.run("SELECT count(*) FROM range(10000000000000) t(i) WHERE hash(i) = 1");
    setImmediate(() => controller.abort());
    return running;
  }, controller.signal);
  await expect(endless).rejects.toThrow(/interrupt/i);
  await expect(pool.use(async () => 1, controller.signal)).rejects.toThrow("abort");
  expect(await pool.use((session) => session.json("SELECT 1 AS one"))).toEqual([{ one: 1 }]);
  await pool.close();
});

test("that is closed lends nothing, and is closed when its last connection is returned", async () => {
  const pool = await SessionPool.open(1, { threads: 1 });
  const events: string[] = [];
  let end = (): void => {};
  const isEnding = new Promise<void>((resolve) => (end = resolve));
  const finished = pool.use(async (session) => {
    await isEnding;
    const rows = await session.json("SELECT 1 AS one");
    events.push("used");
    return rows;
  });
  const closed = pool.close().then(() => events.push("closed"));
  await expect(pool.use(async () => 1)).rejects.toThrow("session pool: is closed");
  end();
  expect(await finished).toEqual([{ one: 1 }]);
  await closed;
  expect(events).toEqual(["used", "closed"]);
  await pool.close();
});

/** DuckDB 1.5.5 fails inside for a rank over a frame without rows, and its database takes no further statement. */
const FATAL = `SELECT percent_rank(ORDER BY i) OVER (PARTITION BY i % 10 ORDER BY i % 3
  ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING) FROM range(1000) t(i)`;

/** Ends the database of a pool's connection. */
const breakIt = (pool: SessionPool): Promise<unknown> => pool.use((session) => session.rows(FATAL));

test("after DuckDB has failed inside, the next statements have another database with the same settings", async () => {
  const spillUnder = temporaryFolder();
  const pool = await SessionPool.open(3, { threads: 1, spillUnder });
  const settings = (): Promise<unknown[]> =>
    pool.use((session) =>
      session.rows(`SELECT name, value FROM duckdb_settings()
        WHERE name IN ('dynamic_or_filter_threshold', 'parquet_metadata_cache', 'threads') ORDER BY name`),
    );
  const before = await settings();
  for (let time = 0; time < 2; time++) {
    // Idle connections of the database that ends.
    await Promise.all([settings(), settings(), settings()]);
    await expect(breakIt(pool)).rejects.toThrow(/^INTERNAL Error/);
    expect(await Promise.all([settings(), settings(), settings(), settings()])).toEqual(
      Array(4).fill(before),
    );
  }
  await pool.close();
});

test("a connection that is used while another one ends its database fails, and a waiting caller gets a new one", async () => {
  const pool = await SessionPool.open(2, { threads: 1 });
  let go = (): void => {};
  const isBroken = new Promise<void>((resolve) => (go = resolve));
  const used = pool.use(async (session) => {
    await session.run("CREATE TEMP TABLE t AS SELECT 1 AS one");
    await isBroken;
    return session.rows("FROM t");
  });
  const breaking = breakIt(pool);
  const waiting = pool.use((session) => session.json("SELECT 1 AS one"));
  await expect(breaking).rejects.toThrow(/^INTERNAL Error/);
  expect(await waiting).toEqual([{ one: 1 }]);
  go();
  await expect(used).rejects.toThrow(/^FATAL Error/);
  expect(await pool.use((session) => session.json("SELECT 1 AS one"))).toEqual([{ one: 1 }]);
  await pool.close();
});

test("a result that ends the database while it is read is no reason to keep it either", async () => {
  const pool = await SessionPool.open(1, { threads: 1 });
  const read = pool.use(async (session) => {
    const result = await session.stream(
      `SELECT i FROM range(200000) t(i) UNION ALL SELECT 1 + (${FATAL} LIMIT 1)`,
    );
    return result.getRows();
  });
  await expect(read).rejects.toThrow(/Error/);
  expect(await pool.use((session) => session.json("SELECT 1 AS one"))).toEqual([{ one: 1 }]);
  await pool.close();
});

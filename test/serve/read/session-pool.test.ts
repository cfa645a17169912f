import { expect, test } from "vitest";
import { SessionPool } from "../../../src/serve/read/session-pool.js";

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

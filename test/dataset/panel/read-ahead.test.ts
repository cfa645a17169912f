import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { oneAhead, TwoConnections } from "../../../src/dataset/panel/lake-panel.js";
import { Session } from "../../../src/db/session/session.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";

/** Would take hours. */
const LONG = "SELECT max(a.range * b.range) FROM range(10_000_000) a, range(10_000_000) b";

test("two connections read in turn, are interrupted by the signal, and are closed without their database", async () => {
  using session = await Session.open({ threads: 1 });
  await session.run("CREATE TABLE days AS FROM range(3) days(n)");
  const stopped = new AbortController();
  const both = await TwoConnections.open(session, stopped.signal);
  const [first, second] = [both.of(0), both.of(1)];
  expect([both.of(2), both.of(3)]).toEqual([first, second]);
  expect(first).not.toBe(second);
  for (const connection of [first, second])
    expect(await connection.json("SELECT CAST(count(*) AS INTEGER) AS n FROM days")).toEqual([{ n: 3 }]);
  const running = [first, second].map((connection) => connection.run(LONG));
  stopped.abort();
  for (const { status, reason } of (await Promise.allSettled(running)) as PromiseRejectedResult[])
    expect([status, String(reason)]).toEqual(["rejected", expect.stringContaining("INTERRUPT")]);
  both[Symbol.dispose]();
  for (const connection of [first, second])
    await expect(connection.run("SELECT 1")).rejects.toThrow(/session is closed/);
  await session.run("FROM days");
});

test("where the second connection cannot be opened, the first is closed", async () => {
  const path = join(temporaryFolder(), "days.duckdb");
  using session = await Session.open({ threads: 1, path });
  await session.run("CREATE TABLE days AS FROM range(3) days(n)");
  const open = session.sibling.bind(session);
  session.sibling = async () => {
    const first = await open();
    session.close();
    return first;
  };
  // The last connection to a database that is closed merges its log into its file.
  expect(existsSync(`${path}.wal`)).toBe(true);
  await expect(TwoConnections.open(session, undefined)).rejects.toThrow(/session is closed/);
  expect(existsSync(`${path}.wal`)).toBe(false);
});

/** What happens, in order, when three items are queried, made and used. */
async function order(overlapsReading: boolean, faulty?: string): Promise<string[]> {
  const events: string[] = [];
  const made = oneAhead(["a", "b", "c"], { overlapsReading }, async (item) => {
    events.push(`ask ${item}`);
    return async () => {
      await Promise.resolve();
      if (item === faulty) throw new Error(`cannot make ${item}`);
      events.push(`made ${item}`);
      return item;
    };
  });
  try {
    for await (const item of made) events.push(`use ${item}`);
  } catch (error) {
    events.push((error as Error).message);
  }
  return events;
}

test("the next item is queried while one is used, or while one is made", async () => {
  expect(await order(false)).toEqual([
    "ask a",
    "made a",
    "ask b",
    "use a",
    "made b",
    "ask c",
    "use b",
    "made c",
    "use c",
  ]);
  expect(await order(true)).toEqual([
    "ask a",
    "ask b",
    "made a",
    "use a",
    "ask c",
    "made b",
    "use b",
    "made c",
    "use c",
  ]);
  expect(await order(true, "b")).toEqual(["ask a", "ask b", "made a", "use a", "ask c", "cannot make b"]);
});

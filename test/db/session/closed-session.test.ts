import { expect, test } from "vitest";
import { QueryError } from "../../../src/core/errors.js";
import { Session } from "../../../src/db/session/session.js";

test("a statement on a closed session is a clear error, and to close it again does nothing", async () => {
  const session = await Session.open({ threads: 1 });
  session.close();
  session.close();
  const closed = expect.objectContaining({ message: expect.stringMatching(/the session is closed/) });
  for (const use of [
    () => session.run("SELECT 1"),
    () => session.rows("SELECT 1"),
    () => session.json("SELECT 1"),
    () => session.stream("SELECT 1"),
    () => session.result("SELECT 1", new Map(), 1),
  ]) {
    const error: unknown = await use().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(QueryError);
    expect(error).toEqual(closed);
  }
});

/** What reading a result after the session that owns the database has been closed ends with. */
async function afterClosing(open: (session: Session) => Promise<() => Promise<unknown>>): Promise<unknown> {
  const session = await Session.open({ threads: 1 });
  const read = await open(session);
  session.close();
  return read().catch((caught: unknown) => caught);
}

test("siblings, streams and readers that are open when their session is closed end with a clear error", async () => {
  const rows = "SELECT i FROM range(1000000) t(i)";
  const uses: Record<string, (session: Session) => Promise<() => Promise<unknown>>> = {
    "a statement of a sibling": async (session) => {
      const sibling = await session.sibling();
      return () => sibling.json("SELECT 1");
    },
    "a sibling of a sibling": async (session) => {
      const sibling = await session.sibling();
      return () => sibling.sibling();
    },
    "a stream": async (session) => {
      const result = await session.stream(rows);
      await result.fetchChunk();
      return () => result.fetchChunk();
    },
    "a stream of a sibling": async (session) => {
      const result = await (await session.sibling()).stream(rows);
      await result.fetchChunk();
      return () => result.fetchChunk();
    },
    "a reader": async (session) => {
      const reader = await session.read(rows);
      await reader.take(1);
      return () => reader.take(10_000);
    },
    "record batches": async (session) => {
      const batches = await session.batches(rows);
      await batches.next();
      return () => batches.next();
    },
  };
  for (const [name, open] of Object.entries(uses)) {
    const error = await afterClosing(open);
    expect(error, name).toBeInstanceOf(QueryError);
    expect((error as QueryError).message, name).toMatch(/the session is closed/);
  }
});

test("a sibling that is closed before its session leaves the session and other siblings as they are", async () => {
  using session = await Session.open({ threads: 1 });
  using other = await session.sibling();
  (await session.sibling()).close();
  expect(await session.json("SELECT 1 AS x")).toEqual([{ x: 1 }]);
  expect(await other.json("SELECT 1 AS x")).toEqual([{ x: 1 }]);
});

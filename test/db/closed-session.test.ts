import { expect, test } from "vitest";
import { QueryError } from "../../src/core/errors.js";
import { Session } from "../../src/db/session.js";

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

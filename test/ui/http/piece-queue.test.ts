import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { PieceQueue } from "../../../src/ui/http/notebook-routes.js";

/** What has become of a push after everything that could happen has happened. */
async function fateOf(push: Promise<void>): Promise<string> {
  const settled = push.then(
    () => "resolved",
    (error: unknown) => String(error),
  );
  return Promise.race([settled, setImmediate("waits")]);
}

test("gives the pieces in their order, the last one too, and its maker waits for each", async () => {
  const queue = new PieceQueue(new AbortController().signal);
  const first = queue.push("a");
  expect(await fateOf(first)).toBe("waits");
  const pieces = queue.pieces();
  expect((await pieces.next()).value).toBe("a");
  expect(await fateOf(first)).toBe("resolved");
  const second = queue.push("b");
  queue.end();
  expect(await fateOf(second)).toBe("resolved");
  expect((await pieces.next()).value).toBe("b");
  expect((await pieces.next()).done).toBe(true);
});

describe("lets its maker go on though nothing was ever taken", () => {
  test("where the receiver had gone before", async () => {
    const queue = new PieceQueue(AbortSignal.abort(new Error("gone")));
    expect(await fateOf(queue.push("a"))).toBe("resolved");
  });

  test("where the receiver goes", async () => {
    const gone = new AbortController();
    const queue = new PieceQueue(gone.signal);
    const push = queue.push("a");
    expect(await fateOf(push)).toBe("waits");
    gone.abort();
    expect(await fateOf(push)).toBe("resolved");
    expect(await fateOf(queue.push("b"))).toBe("resolved");
  });

  test("where the maker has to end: with the reason", async () => {
    const limit = new AbortController();
    const queue = new PieceQueue(new AbortController().signal);
    const push = queue.push("a", limit.signal);
    expect(await fateOf(push)).toBe("waits");
    limit.abort(new Error("the time is up"));
    expect(await fateOf(push)).toBe("Error: the time is up");
    expect(await fateOf(queue.push("b", limit.signal))).toBe("Error: the time is up");
  });
});

test("an end with an error reaches the reader, before the first piece or after it", async () => {
  const failed = new PieceQueue(new AbortController().signal);
  const begun = failed.begun();
  failed.fail(new Error("it broke"));
  await expect(begun).rejects.toThrow("it broke");
  const queue = new PieceQueue(new AbortController().signal);
  const push = queue.push("a");
  await queue.begun();
  queue.fail(new Error("it broke"));
  expect(await fateOf(push)).toBe("resolved");
  const pieces = queue.pieces();
  expect((await pieces.next()).value).toBe("a");
  await expect(pieces.next()).rejects.toThrow("it broke");
});

import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { LineQueue } from "../../../src/ui/http/line-queue.js";

/** What has become of a push after everything that could happen has happened. */
async function fateOf(push: Promise<void>): Promise<string> {
  const settled = push.then(
    () => "resolved",
    (error: unknown) => String(error),
  );
  return Promise.race([settled, setImmediate("waits")]);
}

test("gives the lines in their order, the last one too, and its maker waits for each", async () => {
  const lines = new LineQueue(new AbortController().signal);
  const first = lines.push("a");
  expect(await fateOf(first)).toBe("waits");
  const pieces = lines.pieces();
  expect((await pieces.next()).value).toBe("a\n");
  expect(await fateOf(first)).toBe("resolved");
  const second = lines.push("b");
  lines.end();
  expect(await fateOf(second)).toBe("resolved");
  expect((await pieces.next()).value).toBe("b\n");
  expect((await pieces.next()).done).toBe(true);
});

describe("lets its maker go on though nothing was ever taken", () => {
  test("where the receiver had gone before", async () => {
    const lines = new LineQueue(AbortSignal.abort(new Error("gone")));
    expect(await fateOf(lines.push("a"))).toBe("resolved");
  });

  test("where the receiver goes", async () => {
    const gone = new AbortController();
    const lines = new LineQueue(gone.signal);
    const push = lines.push("a");
    expect(await fateOf(push)).toBe("waits");
    gone.abort();
    expect(await fateOf(push)).toBe("resolved");
    expect(await fateOf(lines.push("b"))).toBe("resolved");
  });

  test("where the maker has to end: with the reason", async () => {
    const limit = new AbortController();
    const lines = new LineQueue(new AbortController().signal);
    const push = lines.push("a", limit.signal);
    expect(await fateOf(push)).toBe("waits");
    limit.abort(new Error("the time is up"));
    expect(await fateOf(push)).toBe("Error: the time is up");
    expect(await fateOf(lines.push("b", limit.signal))).toBe("Error: the time is up");
  });
});

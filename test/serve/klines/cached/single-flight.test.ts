import { expect, test } from "vitest";
import type { BarRun } from "../../../../src/serve/klines/bar-runs.js";
import { SingleFlight } from "../../../../src/serve/klines/cached/single-flight.js";

const never = new AbortController().signal;

test("the same load is begun once, and another by itself", async () => {
  const loads = new SingleFlight();
  let begun = 0;
  const begin = async (): Promise<Map<string, BarRun>> => {
    begun += 1;
    return new Map();
  };
  const [a, b, c] = await Promise.all(["x", "x", "y"].map((id) => loads.share(id, never, begin)));
  expect(a).toBe(b);
  expect(a).not.toBe(c);
  expect(begun).toBe(2);
  await loads.share("x", never, begin);
  expect(begun).toBe(3);
});

test("a waiting call continues where the first one has failed, or ends when it is aborted", async () => {
  const loads = new SingleFlight();
  const gone = new AbortController();
  const own = new Map<string, BarRun>();
  const failing = loads.share("x", never, () => Promise.reject(new Error("gone away")));
  const waiting = loads.share("x", never, async () => own);
  await expect(failing).rejects.toThrow("gone away");
  expect(await waiting).toBe(own);
  void loads.share("y", never, () => new Promise(() => {}));
  const givenUp = loads.share("y", gone.signal, async () => own);
  gone.abort();
  await expect(givenUp).rejects.toThrow("abort");
});

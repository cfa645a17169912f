import { expect, test } from "vitest";
import { ResultCache } from "../../../src/ui/http/request-use.js";

const STAYS = new AbortController().signal;

/** Work that ends when its signal aborts. */
const endless = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));

test("a result is made once, and the oldest one is dropped for a new one", async () => {
  const kept = new ResultCache(2);
  const made: string[] = [];
  const ask = (key: string): Promise<string> =>
    kept.of(key, STAYS, async () => {
      made.push(key);
      return key;
    });
  for (const key of ["a", "b", "a", "c", "a", "b"]) expect(await ask(key)).toBe(key);
  expect(made).toEqual(["a", "b", "c", "b"]);
});

test("the work ends when the last page that waits has gone, and is begun again for the next", async () => {
  const kept = new ResultCache(2);
  const [one, two] = [new AbortController(), new AbortController()];
  const signals: AbortSignal[] = [];
  const make = (signal: AbortSignal): Promise<never> => {
    signals.push(signal);
    return endless(signal);
  };
  const both = [kept.of("a", one.signal, make), kept.of("a", two.signal, make)];
  one.abort(new Error("one has gone"));
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  two.abort(new Error("two has gone"));
  for (const asked of both) await expect(asked).rejects.toThrow("two has gone");
  expect(await kept.of("a", STAYS, async () => 1)).toBe(1);
});

test("a result that was made remains when its page goes; a failure does not", async () => {
  const kept = new ResultCache(2);
  const page = new AbortController();
  await kept.of("a", page.signal, async () => 1);
  page.abort();
  expect(await kept.of("a", STAYS, endless)).toBe(1);
  await expect(kept.of("b", STAYS, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await kept.of("b", STAYS, async () => 2)).toBe(2);
});
